# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The robot file: quantities, strict sections, the catalogue, the registry of models."""

from typing import Any


def __getattr__(name: str) -> Any:
    from soro_mechanics.moved import old_attribute

    return old_attribute(__name__, 'reader', name)
