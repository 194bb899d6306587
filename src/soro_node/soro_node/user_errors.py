# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The error a person sees as one line: what is wrong and what to do."""

from __future__ import annotations


class UserError(Exception):
    """What the user asked for cannot be done.

    - `message`: one line for a person, with the remedy.
    - `code`: ErrorCode of soro_msgs where a service gave one, else 1 (UNKNOWN).
    """

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.code = code
