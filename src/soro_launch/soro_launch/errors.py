# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The one error of the launch runner: what is wrong, in which file, on which line."""

from __future__ import annotations


class LaunchError(Exception):
    """A launch file or its arguments were refused.

    - `message`: what is wrong and what to write instead.
    - `file`, `line`: where; an empty file when the command line is to blame.
    """

    def __init__(self, message: str, file: str = '', line: int = 0) -> None:
        super().__init__(f'{file}:{line}: {message}' if file else message)
        self.message = message
        self.file = file
        self.line = line
