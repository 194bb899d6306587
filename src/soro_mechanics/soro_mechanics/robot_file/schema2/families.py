# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Models that are built from one section of the registry share their numerics."""

from __future__ import annotations

from soro_mechanics.robot_file import registry

FAMILIES: dict[str, tuple[str, ...]] = {
    section: tuple(name for name, entry in registry.MODELS.items() if entry[0] == section)
    for section in dict.fromkeys(entry[0] for entry in registry.MODELS.values())
}


def family(model: str) -> str:
    """Return the section of the registry that a model is built from."""
    return registry.MODELS[model][0]
