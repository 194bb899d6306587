# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Old names of what has moved: they are taken with a warning until 0.3."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
import sys
from types import ModuleType
from typing import Any
import warnings

GONE_IN = '0.3'
# New folder -> modules in it by their old names; old=new where the last part changed. What ends in
# _ or . stands in front of the old names after it.
_MOVED = {
    'analysis': 'condensed_ports measured_compliance polytope stiffness trajectory workspace',
    'core': """
        actuation_limits actuators array_input configuration errors missing_package model
        robot_input search_tolerances status
    """,
    'haptics': """
        flex_calibration flex_fit flex_signal hand_impedance
        linear_haptic_loop=linear_loop rendering rendering_kernels sensing sensing_kernels
        sensor_watch stable_limits virtual_environment virtual_environment_kernels
        haptic_ device device_kernels loop schema
    """,
    'identification': """
        identification=fit stretch_identification=stretch_fit stretch_robot_file stretch_table
        identification_ defaults offsets parameters problem
    """,
    'inverse': 'inverse=search inverse_steps=steps other_starts=multistart',
    'models': 'network',
    'models.ancf': """
        ancf=model ancf_ assembly compliance element_kernels kernels schema shape_kernels
        solve_kernels steps stretch_kernels
    """,
    'models.constant_curvature': 'constant_curvature=model constant_curvature_ kernels schema',
    'models.kirchhoff': """
        kirchhoff=model kirchhoff_ backbone compliance equilibrium guess hold_kernels
        hold_solve_kernels muscle_kernels reach reach_kernels rod_kernels schema steps
    """,
    'models.network': """
        network. arrays batch drive_values equilibrium frequencies layout linearisation meshing
        model ports relaxation rod_loads rod_nodes sensitivity studies=model validity=guard
    """,
    'models.network.description': 'network. cross_section drive_schema schema spec',
    'models.network.inverse_statics': 'network. following inverse inverse_problem platform',
    'models.network.tendon': """
        network. taut_tendons=taut tendons=paths
        network.tendon_ equilibrium inverse layout
    """,
    'models.network.kernels': """
        network. batch_kernels contact_kernels element_kernels element_lane_kernels
        element_strain_kernels elimination_kernels end_kernels lane_kernels
        lane_variation_kernels linear_kernels newton_kernels path_memory_kernels piece_kernels
        platform_array_kernels platform_kernels response_kernels rod_kernels sensor_kernels
        system_kernels tendon_kernels trace_kernels
    """,
    'models.segments': """
        cosserat cosserat_kernels pcc pcc_kernels rod_kernels segment_ grid model schema
    """,
    'numerics': """
        conditioning curves dense_kernels kernel_cache kernel_cache_repair lie lie_kernels
        numba_start qp qp_kernels
    """,
    'robot_file': """
        catalogue quantity registry robot_file=reader section unit_table whole_file=atomic_write
    """,
}


def _moved() -> dict[str, str]:
    found = {}
    for folder, words in _MOVED.items():
        before = ''
        for word in words.split():
            if word.endswith(('_', '.')):
                before = word
                continue
            old, _, new = word.partition('=')
            found[f'soro_mechanics.{before}{old}'] = f'soro_mechanics.{folder}.{new or old}'
    # What a package is called like now answers for itself, see `old_attribute`.
    return {old: new for old, new in found.items() if not new.startswith(f'{old}.')}


MOVED: dict[str, str] = _moved()


def warn(old: str, new: str, callers: int = 0) -> None:
    """Say what something is called now, in the line of who called so many functions before."""
    text = f'{old} is now {new}; the old name goes with {GONE_IN}'
    warnings.warn(text, FutureWarning, stacklevel=2 + callers)


class _Finder(MetaPathFinder, Loader):
    """Imports a module by its old name."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: Any = None) -> Any:
        return ModuleSpec(fullname, self) if fullname in MOVED else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        warn(spec.name, MOVED[spec.name])
        module = import_module(MOVED[spec.name])
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Give the module its own specification back; it has run already."""
        assert module.__spec__ is not None  # noqa: S101 - the import system has set it
        module.__spec__ = module.__spec__.loader_state


def old_attribute(package: str, module: str, name: str) -> Any:
    """Return what a package offered while it was a module."""
    found = None
    # A module in the package is imported by whoever asks; it is no old name.
    if not name.startswith('_') and find_spec(f'{package}.{name}') is None:
        found = getattr(import_module(f'{package}.{module}'), name, None)
    if found is None:
        raise AttributeError(f'module {package!r} has no attribute {name!r}')
    warn(f'{package}.{name}', f'{package}.{module}.{name}')
    return found


def offer_old_names() -> None:
    """Let old names be imported from here on."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())  # before the folders of what is a package now


class OldRobotNames:
    """What `Robot` is called upon by old names; its methods of today do it."""

    def prepare_inverse(self: Any) -> None:
        """Do what `precompute_seeds` does."""
        warn('prepare_inverse', 'precompute_seeds', callers=1)
        self.precompute_seeds()

    def natural_frequencies(self: Any, q: Any, count: int = 3) -> Any:
        """Return what `network.natural_frequencies` does."""
        warn('Robot.natural_frequencies', 'Robot.network.natural_frequencies', callers=1)
        return self.network.natural_frequencies(q, count)

    def validity(self: Any, q: Any) -> Any:
        """Return what `network.validity` does."""
        warn('Robot.validity', 'Robot.network.validity', callers=1)
        return self.network.validity(q)

    def sensitivity(self: Any, q: Any, parameters: Sequence[str], compliance: bool = False) -> Any:
        """Return what `network.sensitivity` does."""
        warn('Robot.sensitivity', 'Robot.network.sensitivity', callers=1)
        return self.network.sensitivity(q, parameters, compliance)
