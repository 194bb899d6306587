# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Networks in motion that the tests of the dynamics share."""

from network_cases import body, end, ground, LENGTH, pose, rod, section
import numpy as np

from soro_mechanics.core.configuration import LoadCase
from soro_mechanics.dynamics.simulation import simulate_stepper
from soro_mechanics.dynamics.stepper import Options, Stepper
from soro_mechanics.models.network.arrays import new_state
from soro_mechanics.models.network.description.spec import NetworkSpec

MASS = 0.05  # kg/m
NOTHING = np.zeros(0)
STILL = np.zeros(3)
PRECISE = {'tolerance': 1e-11, 'rotary_inertia': False}


def beam(elements=10, stiff=3e4, **kind):
    """A cantilever of two-node elements along z, with mass."""
    of = section(mass=MASS, shear=stiff, axial=stiff, **kind)
    one = rod(of=of, pieces=elements)
    return NetworkSpec((ground(), body('tip')), (one,), (), 'tip', np.eye(4))


def swing(spec, duration, step, wrench, start=None, gravity=STILL, tolerance=None, **options):
    """Simulate a network without actuators from rest under `start` (default: wrench(0))."""
    stepper = Stepper(spec, NOTHING, Options(**{**PRECISE, 'retardation': 0.0, **options}))

    def load(t):
        return LoadCase(wrench(t), gravity=gravity)

    begin = load(0.0) if start is None else LoadCase(np.array(start, float), gravity=gravity)
    stepper.rest(NOTHING, begin)
    found = simulate_stepper(stepper, duration, step, lambda t: NOTHING, load, tolerance)
    return found, stepper


def flight(
    elements,
    step,
    count,
    wrench=None,
    twist=None,
    of=None,
    length=LENGTH,
    centre=(2e-3, 0.0, 1e-3),
    tip=None,
    **options,
):
    """Let a rod with a body at each end fly; return its stepper and what happened at each step."""
    first, second = end('other'), tip or end('tip')
    one = rod(first=first, second=second, of=of, pieces=elements, length=length)
    inertia = 1e-6 * np.diag([2.0, 3.0, 4.0])
    ends = [body(name, mass=0.01, centre=centre) for name in ('other', 'tip')]
    ends = [type(b)(b.name, b.pose, b.mass, b.centre, inertia) for b in ends]
    spec = NetworkSpec((ground(), *ends), (one,), (), 'tip', np.eye(4))
    stepper = Stepper(spec, NOTHING, Options(**{**PRECISE, 'retardation': 0.0, **options}))
    x = stepper.inputs_at(NOTHING, LoadCase())
    state = new_state(stepper.layout.structure)
    state.node[:] = [pose((0.0, 0.0, z)) for z in np.linspace(0.0, length, elements + 1)]
    state.body[1:] = state.node[[0, -1]]
    stepper.release(state, x)
    if twist is not None:
        stepper.spin(np.array(twist, dtype=float))
    seen = [(momentum(stepper), stepper.tip)]
    for k in range(count):
        load = np.zeros(6) if wrench is None else wrench((k + 1) * step)
        assert stepper.step(step, NOTHING, LoadCase(load)).taken
        seen.append((momentum(stepper), stepper.tip))
    return stepper, seen


def momentum(stepper):
    """Return linear and angular momentum (6,) about the origin, base axes."""
    m, total = stepper.motion, np.zeros(6)
    for frames, mass, past in (
        (stepper.state.node, m.node_mass, m.node_past),
        (stepper.state.body, m.body_mass, m.body_past),
    ):
        for g, inertia, v in zip(frames, mass, past, strict=True):
            p = inertia @ v[0]
            linear, turn = g[:3, :3] @ p[:3], g[:3, :3] @ p[3:]
            total += [*linear, *(turn + np.cross(g[:3, 3], linear))]
    return total
