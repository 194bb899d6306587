# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Messages that anybody may publish: what cannot be read is said, and ends nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar('T')


def read_or_warn(
    read: Callable[[Any], T], message: Any, topic: str, warn: Callable[[str], object]
) -> T | None:
    """Return what a message says; None without one, or where `warn` gets what is wrong with it."""
    try:
        return None if message is None else read(message)
    except (ValueError, IndexError) as error:
        warn(f'{topic}: {error}; not shown')
        return None
