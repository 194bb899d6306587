# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Old names of modules that have moved: they are imported with a warning until 0.3."""

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
# New folder -> modules in it by their old names; old=new where the last part changed.
_MOVED = {
    'analysis': """
        condensed_ports measured_compliance polytope stiffness trajectory workspace
    """,
    'core': """
        actuation_limits actuators array_input configuration errors missing_package
        model robot_input search_tolerances status
    """,
    'haptics': """
        flex_calibration flex_fit flex_signal hand_impedance handle_dynamics
        haptic_device=device haptic_device_kernels=device_kernels haptic_loop=loop
        haptic_schema=schema linear_haptic_loop=linear_loop rendering rendering_kernels
        sensing sensing_kernels sensor_watch stable_limits virtual_environment
        virtual_environment_kernels
    """,
    'identification': """
        identification=fit identification_defaults=defaults
        identification_offsets=offsets identification_parameters=parameters
        identification_problem=problem stretch_identification=stretch_fit
        stretch_robot_file stretch_table
    """,
    'inverse': """
        inverse=search inverse_steps=steps other_starts=multistart
    """,
    'models': """
        network
    """,
    'models.ancf': """
        ancf=model ancf_assembly=assembly ancf_compliance=compliance
        ancf_element_kernels=element_kernels ancf_kernels=kernels ancf_schema=schema
        ancf_shape_kernels=shape_kernels ancf_solve_kernels=solve_kernels
        ancf_steps=steps ancf_stretch_kernels=stretch_kernels
    """,
    'models.constant_curvature': """
        constant_curvature=model constant_curvature_kernels=kernels
        constant_curvature_schema=schema
    """,
    'models.kirchhoff': """
        kirchhoff=model kirchhoff_backbone=backbone kirchhoff_compliance=compliance
        kirchhoff_equilibrium=equilibrium kirchhoff_guess=guess
        kirchhoff_hold_kernels=hold_kernels
        kirchhoff_hold_solve_kernels=hold_solve_kernels
        kirchhoff_muscle_kernels=muscle_kernels kirchhoff_reach=reach
        kirchhoff_reach_kernels=reach_kernels kirchhoff_rod_kernels=rod_kernels
        kirchhoff_schema=schema kirchhoff_steps=steps
    """,
    'models.network': """
        network.arrays=arrays network.batch=batch network.cross_section=cross_section
        network.drive_schema=drive_schema network.drive_values=drive_values
        network.equilibrium=equilibrium network.following=following
        network.frequencies=frequencies network.inverse=inverse
        network.inverse_problem=inverse_problem network.layout=layout
        network.linearisation=linearisation network.meshing=meshing network.model=model
        network.platform=platform network.ports=ports network.relaxation=relaxation
        network.rod_loads=rod_loads network.rod_nodes=rod_nodes network.schema=schema
        network.sensitivity=sensitivity network.spec=spec network.studies=refinement
        network.validity=validity
    """,
    'models.network.tendon': """
        network.taut_tendons=taut network.tendon_equilibrium=equilibrium
        network.tendon_inverse=inverse network.tendon_layout=layout network.tendons=paths
    """,
    'models.network.kernels': """
        network.batch_kernels=batch_kernels network.contact_kernels=contact_kernels
        network.element_kernels=element_kernels
        network.element_lane_kernels=element_lane_kernels
        network.element_strain_kernels=element_strain_kernels
        network.elimination_kernels=elimination_kernels network.end_kernels=end_kernels
        network.lane_kernels=lane_kernels
        network.lane_variation_kernels=lane_variation_kernels
        network.linear_kernels=linear_kernels network.newton_kernels=newton_kernels
        network.path_memory_kernels=path_memory_kernels
        network.piece_kernels=piece_kernels
        network.platform_array_kernels=platform_array_kernels
        network.platform_kernels=platform_kernels
        network.response_kernels=response_kernels network.rod_kernels=rod_kernels
        network.sensor_kernels=sensor_kernels network.system_kernels=system_kernels
        network.tendon_kernels=tendon_kernels network.trace_kernels=trace_kernels
    """,
    'models.segments': """
        cosserat cosserat_kernels pcc pcc_kernels rod_kernels segment_grid=grid
        segment_model=model segment_schema=schema
    """,
    'numerics': """
        conditioning curves dense_kernels kernel_cache kernel_cache_repair lie
        lie_kernels numba_start qp qp_kernels
    """,
    'robot_file': """
        catalogue quantity registry robot_file=reader section unit_table
        whole_file=atomic_write
    """,
}


def _moved() -> dict[str, str]:
    found = {}
    for folder, words in _MOVED.items():
        for word in words.split():
            old, _, new = word.partition('=')
            found[f'soro_mechanics.{old}'] = f'soro_mechanics.{folder}.{new or old}'
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
