# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Which section of a robot file is read by which parser, and which model is which class.

Modules are named by text and imported when used, so that a driver that only needs limits does
not load scipy.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

# Section of the robot file -> function(Section, tuple[Actuator, ...]) -> frozen dataclass.
PARSERS: dict[str, str] = {
    'segments': 'models.segments.schema:read_segments',
    'constant_curvature': 'models.constant_curvature.schema:read_constant_curvature',
    'ancf': 'models.ancf.schema:read_ancf',
    'kirchhoff': 'models.kirchhoff.schema:read_kirchhoff',
    'network': 'models.network.description.schema:read_network',
    'haptic': 'haptics.schema:read_haptic',
    'control': 'robot_file.closed_loop:read_closed_loop',
    'history': 'actuator_models.history:read_history',
    'tracker': 'robot_file.sensor_sections:read_tracker',
    'force_sensor': 'robot_file.sensor_sections:read_force_sensor',
}

# Model name -> section it is built from, class.
MODELS: dict[str, tuple[str, str]] = {
    'ncm': ('segments', 'models.segments.theories:NonlinearCosserat'),
    'lcm': ('segments', 'models.segments.theories:LinearCosserat'),
    'npcc': ('segments', 'models.segments.theories:NonlinearPcc'),
    'lpcc': ('segments', 'models.segments.theories:LinearPcc'),
    'constant_curvature': (
        'constant_curvature',
        'models.constant_curvature.model:ConstantCurvature',
    ),
    'ancf': ('ancf', 'models.ancf.model:Ancf'),
    'kirchhoff': ('kirchhoff', 'models.kirchhoff.model:Kirchhoff'),
    'kirchhoff_published': ('kirchhoff', 'models.kirchhoff.model:KirchhoffPublished'),
    'network': ('network', 'models.network.model:Network'),
}

# Section -> models that are built from it: they share their numerics.
FAMILIES: dict[str, tuple[str, ...]] = {
    section: tuple(name for name, entry in MODELS.items() if entry[0] == section)
    for section in dict.fromkeys(entry[0] for entry in MODELS.values())
}


def family(model: str) -> str:
    """Return the section that a model is built from."""
    return MODELS[model][0]


def resolve(reference: str) -> Any:
    """Import ``module:attribute``, the module within soro_mechanics."""
    module, _, attribute = reference.partition(':')
    return getattr(import_module(f'soro_mechanics.{module}'), attribute)
