# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Packages that a system's package manager may not bring, and what to do about it."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from soro_mechanics.core.errors import MissingPackage


def how_to_install(requirement: str, extra: str = '') -> str:
    """Say where a package comes from: a requirement of pip, an extra of soro_mechanics."""
    also = f' so does the extra soro_mechanics[{extra}],' if extra else ''
    return (
        f"`make setup` brings it,{also} or pip install '{requirement}' "
        '(where pip refuses: in a virtual environment, or with --user --break-system-packages)'
    )


def import_package(module: str, requirement: str, extra: str = '') -> Any:
    """Return a module that not every installation has. Raises MissingPackage."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingPackage(f'{error}; {how_to_install(requirement, extra)}') from None


def require_numba() -> None:
    """Raise MissingPackage without Numba: Ubuntu 24.04 has no package of it."""
    if find_spec('numba') is None:
        raise MissingPackage(f"No module named 'numba'; {how_to_install('numba')}")
