# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Lists of a message that go with a list of names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def lists_fit(wanted: Sequence[str], names: Sequence[str], *lists: Sequence[Any]) -> bool:
    """Whether a message has the wanted names, in that order, and a value of each list for each."""
    return list(names) == list(wanted) and all(len(values) == len(names) for values in lists)
