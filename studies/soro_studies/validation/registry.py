# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What has known numbers to meet; modules are imported when used."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

from soro_mechanics.core.errors import UnknownName
from soro_studies.validation.robots import Group, Loader
from soro_studies.validation.row import explained, Row


@dataclass(frozen=True)
class Comparison:
    """A robot beside its paper.

    Attributes
    ----------
    title : str
    module : str
        Of `soro_studies.validation`; its `GROUPS` compute the rows.
    text : str
        Under the heading.
    """

    title: str
    module: str
    text: str


ROBOTS = {
    'stiff_flop': Comparison(
        'STIFF-FLOP, one segment (Shi 2023)',
        'stiff_flop',
        'Model `ncm` unless a row says otherwise. Compliances, and stiffnesses that the paper '
        'computed, are its integral (4); a stiffness that it measured is the tangent, with the '
        'integral beside it: one over its diagonal element. The rows of the fit were used for '
        'fitting ([identification](stiff_flop_identification.md)), then the robot file was '
        'frozen; those that only follow from them count as used for fitting too. What the paper '
        'prints both for 90 deg and for full pressure stands twice, as here full pressure bends '
        'further: where a text names the pressure, 90 deg are a posture chosen, and the other '
        'way round. The paper mounted the robot on an arm for its measurements and does not say '
        'which way up; weight acts here as in its simulations.',
    ),
    'stiff_flop_two_segment': Comparison(
        'STIFF-FLOP, two segments (Shi 2023)',
        'stiff_flop_two_segment',
        'Same sections as the one-segment robot: nothing was fitted to these rows.',
    ),
    'soft_parallel': Comparison(
        'Soft parallel robot (Huang 2022)',
        'soft_parallel',
        'Model `ancf`. One number was fitted: the height of the three curves lambda(P), to the '
        'longest extent of the workspace. Platform radius, masses and mounting are assumed. The '
        'predicted rows hold words of the paper and none of its numbers.',
    ),
    'spatial_cc': Comparison(
        'Constant-curvature arm (Akbari 2021)',
        'spatial_cc',
        'Rest length, actuator offset and the two numbers of the pressure map were fitted to the '
        'constant-curvature columns of Table 1.',
    ),
    'pam_continuum': Comparison(
        'Muscle-driven continuum robot (Chen 2022)',
        'pam_continuum',
        'Model `kirchhoff`. Nothing was fitted; moduli, muscle radius and the size of the curves '
        'are assumed.',
    ),
    'stewart_gough': Comparison(
        'Continuum Stewart-Gough robot (Shi 2023, Appendix E)',
        'stewart_gough',
        'Model `network`. Nothing in the robot file was fitted; one row chose its height, and two '
        'rest on a pose that the paper does not print. Every compliance is the tangent with the '
        'lengths held; the paper applies its integral (4), which leaves out what the rods '
        'already carry.',
    ),
    'haptic_5dof': Comparison(
        'Haptic device (Koehler 2023)',
        'haptic_5dof',
        'Model `network`. Nothing was fitted; the rest shape of the legs is assumed, so orderings '
        'and errors count, not absolute forces.',
    ),
    'one_rod': Comparison(
        'One rod with known answers',
        'one_rod',
        'Models `ncm`, `network`, `kirchhoff` on the same clamped rod. "Paper" is the table of '
        'the elastica (elliptic integrals) or the closed form.',
    ),
}


def groups_of(robot: str) -> tuple[Group, ...]:
    """Return the functions that compute the rows of one robot.

    Raises
    ------
    UnknownName
        The robot has no published numbers registered.
    """
    if robot not in ROBOTS:
        raise UnknownName('robot', robot, tuple(ROBOTS))
    module = import_module(f'soro_studies.validation.{ROBOTS[robot].module}')
    groups: tuple[Group, ...] = module.GROUPS
    return groups


def rows_of(robot: str, load: Loader | None = None) -> list[Row]:
    """Compute the rows of one robot, of the catalogue's unless another loader is given.

    Raises
    ------
    UnknownName
        The robot has no published numbers registered.
    NotExplained
        A row is not met and does not say why.
    """
    from soro_mechanics.robot import load_robot

    loader = load_robot if load is None else load
    return explained(row for group in groups_of(robot) for row in group(loader))
