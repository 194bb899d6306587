# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Which devices are installed: entry points of the group ``soro_driver.devices``."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

from soro_mechanics.core.errors import UnknownName

GROUP = 'soro_driver.devices'


def load(name: str, group: str = GROUP) -> Any:
    """Return the class that an installed package offers under a name.

    UnknownName: with the names that are installed.
    """
    found = {point.name: point for point in entry_points(group=group)}
    if name not in found:
        raise UnknownName('driver.device', name, tuple(sorted(found)))
    return found[name].load()
