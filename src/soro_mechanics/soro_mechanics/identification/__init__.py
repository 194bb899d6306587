# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Robot files fitted to recordings."""

from typing import Any


def __getattr__(name: str) -> Any:
    from soro_mechanics.moved import old_attribute

    return old_attribute(__name__, 'fit', name)
