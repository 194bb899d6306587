# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Checks of the models of a robot: where they converge and stand, their mesh, how they agree."""

from __future__ import annotations

from collections.abc import Iterator
import math
from typing import TYPE_CHECKING

import numpy as np

from soro_cli.doctor.findings import fail, Finding, merged, ok, warn
from soro_cli.tables import some
from soro_mechanics.core.actuation_limits import extremes
from soro_mechanics.core.errors import SoroError
from soro_mechanics.core.status import COARSE, Code, Stability, Warnings
from soro_mechanics.robot_file.reader import RobotDescription
from soro_node.display_units import limits, shown

if TYPE_CHECKING:
    from soro_mechanics.core.configuration import Configuration
    from soro_mechanics.robot import Robot

    Solved = dict[str, Configuration]

APART = 0.1  # of the length: models of the same body may differ by (assumed)
STILL = 1e-3  # of the length: a tip that moves less hardly moves (assumed)
SLENDER = 10.0  # length over thickness below which a rod is no beam
SHORT = 1.0  # the same of other theories; they are measured on arms of 1.6 (Shi 2023)
STIFFER = 0.05  # share of EA by which a leg of ancf is stiffer along its axis: a remark
REFINED = 8  # configurations whose mesh is refined: those that are farthest apart


def check_models(description: RobotDescription) -> Iterator[Finding]:
    """Solve every model at rest and at the ends of the limits, mounted as the file says."""
    from soro_mechanics.robot import Robot

    cases = extremes(description)
    asked = 'network' if 'network' in description.models else description.models[0]
    answers: dict[str, Solved] = {}
    for name in description.models:
        try:
            robot = Robot(description, name)
            solved = {case: robot.forward(p) for case, p in cases.items()}
        except SoroError as error:
            yield fail(name, str(error), 'the model cannot be used')
            continue
        answers[name] = solved
        yield from _equilibria(robot, solved)
        stable = {case: q for case, q in solved.items() if stands(q)}
        if stable:
            yield from _mesh(robot, stable)
        if name == asked and 'rest' in solved:
            least = SLENDER if name == 'network' else SHORT
            yield from merged(_proportions(solved['rest'], least))
            if stable:
                yield _reach(stable)
    yield from _agreement(answers, description)
    yield from _curves(description)


def stands(q: Configuration) -> bool:
    """Whether an equilibrium is solved and not known to be unstable."""
    return q.status.converged and q.status.stability is not Stability.UNSTABLE


def _equilibria(robot: Robot, solved: Solved) -> Iterator[Finding]:
    lost = [case for case, q in solved.items() if not q.status.converged]
    loose = [case for case, q in solved.items() if q.status.converged and not stands(q)]
    odd = [case for case, q in solved.items() if stands(q) and q.status.doubt]
    if lost:
        yield warn(robot.model, f'does not converge: {some(lost)}', 'are the limits right?')
    if 'rest' in loose:
        remedy = 'is it too soft or too heavy? check stiffness, masses and gravity'
        yield warn(robot.model, 'the rest is not stable', remedy)
    elif loose:
        text = f'unstable as mounted: {some(loose)}'
        rest = solved['rest']
        parts = {
            case: robot.limit_distance(rest, solved[case].actuation - rest.actuation)
            for case in loose[:REFINED]
        }
        case = min(parts, key=parts.__getitem__)
        if math.isfinite(parts[case]):
            text += f'; the earliest at {parts[case]:.0%} of the way to {case}'
        yield warn(robot.model, text, 'limit the actuation, or mount it another way')
    beyond = [c for c in odd if Warnings.OUTSIDE_THEORY in solved[c].status.warnings]
    coarse = [c for c in odd if c not in beyond]
    remedy = 'the model does not describe this; are the limits right?'
    for cases, help in ((beyond, remedy), (coarse, '')):
        if cases:
            yield warn(robot.model, f'{some(cases)}: {solved[cases[0]].status.doubt}', help)
    if not (lost or loose or odd):
        known = all(q.status.stability is Stability.STABLE for q in solved.values())
        yield ok(robot.model, f'{"stable" if known else "converges"} at {len(solved)} actuations')


def _mesh(robot: Robot, stable: Solved) -> Iterator[Finding]:
    """Compare the mesh with one twice as fine where it is bent most: at rest nothing may be."""
    home = np.mean([q.tip[:3, 3] for q in stable.values()], axis=0)
    farthest = sorted(stable, key=lambda case: -np.linalg.norm(stable[case].tip[:3, 3] - home))
    moved = {case: robot.refinement(stable[case])[0] for case in farthest[:REFINED]}
    known = {case: way for case, way in moved.items() if not math.isnan(way)}
    subject, remedy = f'{robot.model} mesh', 'raise elements, steps or mesh'
    if not known:
        yield warn(subject, f'a mesh twice as fine has no equilibrium ({farthest[0]})', remedy)
        return
    worst = max(known, key=known.__getitem__)
    if not known[worst] > 0.0:
        return  # a closed form has no mesh
    text = f'the tip moves {known[worst] * 1e3:.2g} mm on a mesh twice as fine ({worst})'
    coarse = any(Warnings.COARSE_MESH in q.status.warnings for q in stable.values())
    fine = not coarse and known[worst] <= COARSE * _length(stable[worst])
    yield ok(subject, text) if fine else warn(subject, text, remedy)


def _proportions(q: Configuration, least: float) -> Iterator[Finding]:
    for name, arc, radius in zip(q.backbone_names, q.arc_lengths, q.radii, strict=True):
        slender = (arc[-1] - arc[0]) / (2.0 * radius.max())
        if slender < least:
            text = f'{slender:.3g} times as long as thick'
            beam = 'a beam is slender; expect errors of that order squared'
            yield warn(name, text, 'is the unit right?' if slender < SHORT else beam)


def _reach(stable: Solved) -> Finding:
    span = np.ptp([q.tip[:3, 3] for q in stable.values()], axis=0) * 1e3
    if not span.max() > STILL * 1e3 * _length(next(iter(stable.values()))):
        text = f'the tip moves {span.max():.2g} mm at most'
        return warn('reach', text, 'is it too stiff? does every actuator drive something?')
    return ok('reach', 'tip within ' + ' x '.join(f'{x:.3g}' for x in span) + ' mm at the limits')


def _length(q: Configuration) -> float:
    """Return how large the robot is [m]: the mean length of its backbones, the way to its tip."""
    mean = float(np.mean([arc[-1] - arc[0] for arc in q.arc_lengths]))
    return max(mean, float(np.linalg.norm(q.tip[:3, 3])))


def _agreement(answers: dict[str, Solved], description: RobotDescription) -> Iterator[Finding]:
    """Hold every model against the first one, which is what the robot is computed with."""
    if len(answers) < 2:
        return
    first, *others = answers
    for name in others:
        ours, theirs = answers[first], answers[name]
        linear = _linear(name, description) or _linear(first, description)
        split = [c for c in ours if _disagree(ours[c], theirs[c])]
        if split and not linear:
            text = f'one stands, the other does not: {some(split)}'
            yield warn(f'{name} and {first}', text, 'see the rows of both; which one is right?')
        apart = {
            case: float(np.linalg.norm(q.tip[:3, 3] - theirs[case].tip[:3, 3]))
            for case, q in ours.items()
            if stands(q) and stands(theirs[case])
        }
        if not apart:
            continue
        worst = max(apart, key=apart.__getitem__)
        share = apart[worst] / _length(ours[worst])
        text = f'tips {apart[worst] * 1e3:.3g} mm apart ({share:.1%} of the length) at {worst}'
        if share <= APART:
            yield ok(f'{name} and {first}', text)
        elif linear:
            yield ok(f'{name} and {first}', f'{text}: the size of what a linear theory leaves out')
        else:
            yield warn(f'{name} and {first}', text, 'do they describe the same robot?')


def _linear(model: str, description: RobotDescription) -> bool:
    """Whether sections of a chain stay as at rest, whatever stretches them (Shi 2023)."""
    return 'segments' in description.structure and model in ('lcm', 'lpcc', 'network')


def _disagree(a: Configuration, b: Configuration) -> bool:
    """Whether two models of known stability differ about it, or about there being a shape."""
    known = [q for q in (a, b) if q.status.stability is not Stability.UNKNOWN]
    lost = [q.status.code is Code.NOT_CONVERGED for q in (a, b)]
    return lost[0] != lost[1] or (len(known) == 2 and stands(a) != stands(b))


def _curves(description: RobotDescription) -> Iterator[Finding]:
    """Name curves that end before the limits of their actuator."""
    for index, (first, last) in sorted(_curve_ends(description).items()):
        a = description.actuators[index]
        slack = 1e-6 * (a.maximum - a.minimum)
        if first > a.minimum + slack or last < a.maximum - slack:
            covered = f'{shown(first, a.unit)} ... {shown(last, a.unit)}'
            text = f'curve of {a.name} covers {covered} of {limits(a)}'
            yield warn('curve', text, 'values beyond are extrapolated; measure up to the limits')


def _curve_ends(description: RobotDescription) -> dict[int, tuple[float, float]]:
    """Return between which values actuation curves have data, by actuator."""
    found: dict[int, tuple[float, float]] = {}
    legs, network = (description.structure.get(key) for key in ('ancf', 'network'))
    if legs is not None:
        ends = [(float(c.pressures[0]), float(c.pressures[-1])) for c in legs.curves]
        found.update(enumerate(ends))
    if network is not None:
        for drive in network.drives:
            if drive.curve is not None:
                found[drive.actuator] = float(drive.curve[0, 0]), float(drive.curve[-1, 0])
    return found


def check_ancf(robot: RobotDescription) -> Iterator[Finding]:
    """Report the effective EA of the legs of model ancf at both ends of their range."""
    if 'ancf' not in robot.models:
        return
    from soro_mechanics.models.ancf.model import Ancf  # loads the solvers

    try:
        model = Ancf(robot)
    except SoroError:  # said by the check of the models
        return
    ends = [robot.minimum, robot.maximum]
    found = [leg for end in ends for leg in model.axial_stiffness(end)]
    written = model.legs.tension
    low, high = (pick(leg.effective for leg in found) for pick in (min, max))
    text = f'a leg of EA {written:.3g} N is as stiff along its axis as {low:.3g} to {high:.3g} N'
    energy = 'it follows from the published energy; for axial loads use model network'
    stiff = warn('ancf, effective EA', text, f'{energy}, docs/models/ancf.md')
    yield ok('ancf, effective EA', text) if high <= (1.0 + STIFFER) * written else stiff
