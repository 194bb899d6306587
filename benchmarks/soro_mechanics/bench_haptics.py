# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Time of one haptic tick: sensing, environment, rendering, limits, and the nonlinear model.

Run ``python bench_haptics.py [ticks]``. Prints median, p99, p99.9 and least time in microseconds.
"""

import gc
import sys
import time

import numpy as np

from soro_mechanics import load_robot
from soro_mechanics.analysis.polytope import FORCE, isotropic_effort
from soro_mechanics.core.status import Code
from soro_mechanics.haptics.device import HapticDevice
from soro_mechanics.haptics.loop import HapticLoop
from soro_mechanics.haptics.rendering import HapticLaw, Rendering, rendering_setup
from soro_mechanics.haptics.sensing import Sensing, sensing_setup
from soro_mechanics.haptics.virtual_environment import (
    PRESETS,
    published_environment,
    VirtualEnvironment,
)
from soro_mechanics.numerics.lie import so3_exp
from soro_rigs.motor_limits import symmetric_limits
from soro_studies.mechanics.linear_device import random_ports, SpringDevice

ENCODER, SENSOR = 1.6e-4, 2e-6


def time_calls(call, count):
    """Return the durations of `count` calls [us]."""
    call(0)
    call(1)  # compiled and warm
    gc.collect()
    gc.disable()
    times = np.empty(count)
    for i in range(count):
        start = time.perf_counter_ns()
        call(i)
        times[i] = time.perf_counter_ns() - start
    gc.enable()
    return times / 1e3


def report(name, times):
    """Print one line."""
    median, p99, p999 = np.percentile(times, [50.0, 99.0, 99.9])
    line = f'{name:34s} {median:8.1f} {p99:8.1f} {p999:8.1f} {times.min():8.1f}'
    print(line)


def law_for(name, device, ports):
    """Return a law with one of the published environments."""
    sensing = Sensing(ports, sensing_setup(ports, ENCODER, SENSOR))
    setup = rendering_setup(0.002, symmetric_limits(np.full(6, 2.0), 0.3), 20.0)
    objects = published_environment(name, ports.pose)
    return HapticLaw(sensing, setup, VirtualEnvironment(objects, neutral=ports.pose))


def main(count):
    """Measure everything."""
    rng = np.random.default_rng(0)
    device = SpringDevice()
    rest = device.held(np.zeros(6), np.zeros(5))
    angles = rng.normal(size=(count, 6)) * 0.02
    states = [device.held(a, rng.normal(size=5) * 0.05) for a in angles[:500]]
    print(f'{"microseconds, " + str(count) + " calls":34s}   median      p99    p99.9    least')

    sensing = Sensing(rest, sensing_setup(rest, ENCODER, SENSOR))
    report(
        'sensing',
        time_calls(lambda i: sensing.update(states[i % 500].angle, states[i % 500].sensor), count),
    )
    bounded = Sensing(rest, sensing_setup(rest, ENCODER, SENSOR, torque_limit=0.003))
    report(
        'sensing, bounds active',
        time_calls(lambda i: bounded.update(states[i % 500].angle, states[i % 500].sensor), count),
    )

    goals = rng.normal(size=(500, 6)) * np.array([0.01, 0.01, 0.01, 0.1, 0.1, 0.1])
    hands = [np.eye(4) for _ in range(500)]
    for hand, goal in zip(hands, goals, strict=True):
        hand[:3, :3] = so3_exp(goal[3:])
    free = Rendering(rest, rendering_setup(0.002, symmetric_limits(np.full(6, 9.0), 9.0), 20.0))
    report(
        'rendering, no limit active',
        time_calls(
            lambda i: free.update(hands[i % 500], goals[i % 500], goals[(i + 7) % 500]), count
        ),
    )
    tight = Rendering(rest, rendering_setup(0.002, symmetric_limits(np.full(6, 0.15), 0.03), 20.0))
    report(
        'rendering, limits active',
        time_calls(
            lambda i: tight.update(hands[i % 500], goals[i % 500], goals[(i + 7) % 500]), count
        ),
    )

    for name in PRESETS:
        law = law_for(name, device, rest)
        report(
            f'whole tick, {name}',
            time_calls(
                lambda i, law=law: law.tick(states[i % 500].angle, states[i % 500].sensor), count
            ),
        )

    limits = symmetric_limits(np.full(6, 0.6), 0.04)
    ports = [random_ports(seed) for seed in range(10)]
    report(
        'isotropic force (offline)',
        time_calls(lambda i: isotropic_effort(ports[i % 10], limits, FORCE), min(count, 200)),
    )
    full_model(min(count, 5000))


def full_model(count):
    """Measure tick and model of the loop on haptic_5dof, the hand moving by 1 cm at 1 Hz."""
    robot = load_robot('haptic_5dof')
    plant, device = HapticDevice(robot), HapticDevice(robot)
    samples = []
    for phase in np.linspace(0.0, 2.0 * np.pi, 500):
        plant.update(np.zeros(6), np.array([np.sin(phase), np.cos(phase) - 1.0, 0.0, 0.0, 0.0]))
        samples.append((plant.ports.angle.copy(), plant.ports.sensor.copy()))
    setup = rendering_setup(0.002, device.motor_limits(), 17.0)
    loop = HapticLoop(device, sensing_setup(device.ports, 2.7e-4, 2e-5), setup)
    loop.start(np.zeros(6))
    model, solved = [], []

    def tick(i):
        sensed = loop.tick(*samples[i % 500])
        start = time.perf_counter_ns()
        followed = loop.advance()
        model.append((time.perf_counter_ns() - start) / 1e3)
        solved.append(loop.computed)
        if (sensed, followed) != (Code.NONE, Code.NONE):
            raise SystemExit(f'tick {i}: {sensed}, {followed}')

    total = time_calls(tick, count)
    report('full model: measurement to command', total - np.array(model[2:]))
    report('full model: following the hand', np.array(model[2:])[solved[2:]])
    print(f'full model: followed in {np.mean(solved):.1%} of the ticks')
    report('full model: whole tick', total)


if __name__ == '__main__':
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20000)
