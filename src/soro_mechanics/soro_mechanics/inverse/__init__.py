# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""From a pose to an actuation: search within limits, from several starts."""

from typing import Any


def __getattr__(name: str) -> Any:
    from soro_mechanics.moved import old_attribute

    return old_attribute(__name__, 'search', name)
