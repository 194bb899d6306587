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
    'segments': 'soro_mechanics.segment_schema:read_segments',
    'constant_curvature': 'soro_mechanics.constant_curvature_schema:read_constant_curvature',
    'ancf': 'soro_mechanics.ancf_schema:read_ancf',
    'kirchhoff': 'soro_mechanics.kirchhoff_schema:read_kirchhoff',
    'network': 'soro_mechanics.network.schema:read_network',
    'haptic': 'soro_mechanics.haptic_schema:read_haptic',
}

# Model name -> (section it is built from, class, one line for people).
MODELS: dict[str, tuple[str, str, str]] = {
    'ncm': (
        'segments',
        'soro_mechanics.cosserat:NonlinearCosserat',
        'nonlinear Cosserat rod (Shi 2023)',
    ),
    'lcm': (
        'segments',
        'soro_mechanics.cosserat:LinearCosserat',
        'linear Cosserat rod (Shi 2023)',
    ),
    'npcc': (
        'segments',
        'soro_mechanics.pcc:NonlinearPcc',
        'nonlinear piecewise constant curvature (Shi 2023)',
    ),
    'lpcc': (
        'segments',
        'soro_mechanics.pcc:LinearPcc',
        'linear piecewise constant curvature (Shi 2023)',
    ),
    'constant_curvature': (
        'constant_curvature',
        'soro_mechanics.constant_curvature:ConstantCurvature',
        'one arc of constant curvature, closed form (Akbari 2021)',
    ),
    'ancf': (
        'ancf',
        'soro_mechanics.ancf:Ancf',
        'absolute nodal coordinates, published formulation (Huang 2022)',
    ),
    'kirchhoff': (
        'kirchhoff',
        'soro_mechanics.kirchhoff:Kirchhoff',
        'backbone of least energy in quaternions (Chen 2022)',
    ),
    'kirchhoff_published': (
        'kirchhoff',
        'soro_mechanics.kirchhoff:KirchhoffPublished',
        'the same with the moduli as printed (Chen 2022)',
    ),
    'network': (
        'network',
        'soro_mechanics.network.model:Network',
        'beam network: geometrically exact rods between rigid bodies',
    ),
}


def resolve(reference: str) -> Any:
    """Import ``module:attribute``."""
    module, _, attribute = reference.partition(':')
    return getattr(import_module(module), attribute)
