# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Robot files made from a few answers: a soft arm, a tendon arm, a platform on soft legs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import math

from soro_mechanics.robot_file.quantity import parse


@dataclass(frozen=True)
class Question:
    """One answer that a template needs; `unit` is the SI unit, empty for a whole number."""

    key: str
    text: str
    default: str
    unit: str


@dataclass(frozen=True)
class Template:
    """A kind of robot: what is asked, and the function that writes its body and drives."""

    summary: str
    questions: tuple[Question, ...]
    write: Callable[[dict[str, str]], str]


HEAD = """\
# Every number with a dimension carries its unit. What was not asked is assumed: correct it, and
# say `source: measured` where you have measured. Every key: docs/robot_file.md
schema: 2
name: {name}
title: {title}
gravity: 0 0 -9.81 m/s^2    # in base_link: how the robot is mounted; 0 0 9.81 m/s^2 hangs

"""
COUNT = Question('count', 'how many of them', '3', '')


def _mm(text: str) -> float:
    return 1e3 * parse(text, 'm')[0]


def _angles(count: str) -> list[float]:
    return [360.0 * i / int(count) for i in range(int(count))]


def _material(a: dict[str, str], indent: int) -> str:
    """Return the lines of a silicone with the Young's modulus that was answered."""
    young = f'young: {{value: {a["young"]}, source: assumed}}'
    rest = ('poisson: 0.49', 'density: 1070 kg/m^3')
    lines = ['material:                 # silicone', *(f'  {x}' for x in (young, *rest))]
    return '\n'.join(' ' * indent + line for line in lines)


def _arm(a: dict[str, str]) -> str:
    radius = _mm(a['radius'])
    area = math.pi * (0.2 * radius) ** 2
    chambers = '\n'.join(
        f'        - {{drive: chamber_{i}, area: {area:.3g} mm^2, offset: {0.6 * radius:.3g} mm, '
        f'angle: {angle:g} deg}}'
        for i, angle in enumerate(_angles(a['count']), 1)
    )
    drives = '\n'.join(
        f'  - {{name: chamber_{i}, quantity: pressure, minimum: 0 bar, maximum: {a["maximum"]}, '
        'rate: 1 bar/s}'
        for i in range(1, int(a['count']) + 1)
    )
    return f"""\
body:
  kind: chain
  tip: {{mass: 5 g}}            # caps and sensors at the tip
  segments:                   # from the base to the tip; write more for a longer arm
    - name: segment_1
      length: {a['length']}          # of the part that gives way
      radius: {a['radius']}          # outer
{_material(a, 6)}
      shear_factor: 0.85
      chambers:               # pressure bends the segment away from the chamber and stretches it
{chambers}

drives:                       # in the order of every actuation
{drives}

models:                       # the default first
  ncm: {{}}
"""


def _tendons(a: dict[str, str]) -> str:
    hole = a['radius']
    tendons = '\n'.join(
        f'    tendon_{i}: {{rods: [arm], polar: {{radius: {hole}, angle: {angle:g} deg}}}}'
        for i, angle in enumerate(_angles(a['count']), 1)
    )
    drives = '\n'.join(
        f'  - {{name: tendon_{i}, quantity: force, minimum: 0 N, maximum: {a["maximum"]}, '
        f'rate: 10 N/s, acts: [{{drives: tension, tendons: [tendon_{i}]}}]}}'
        for i in range(1, int(a['count']) + 1)
    )
    return f"""\
body:
  kind: rods
  sections:
    backbone:                 # a round rod; 60 GPa is NiTi
      shape: circle
      radius: {a['backbone']}
      young: {{value: {a['young']}, source: assumed}}
      poisson: 0.33
      density: 6500 kg/m^3
      strain_limit: 2 %
  bodies:
    tip: {{mass: 3 g}}
  rods:
    - name: arm
      section: backbone
      length: {a['length']}
      from: {{body: ground}}  # clamped, along z of the base
      to: {{body: tip}}
  tip: {{body: tip}}
  tendons:                    # holes of the discs; `to: 100 mm` anchors a tendon before the tip
{tendons}

drives:                       # motors that set a length instead: quantity: length, drives: tendon
{drives}

models:
  network: {{}}
"""


def _legs(a: dict[str, str]) -> str:
    legs = '\n'.join(
        f'    - {{name: leg_{i}, drive: leg_{i}, angle: {angle:g} deg}}'
        for i, angle in enumerate(_angles(a['count']), 1)
    )
    drives = '\n'.join(
        f'  - {{name: leg_{i}, quantity: pressure, minimum: 0 kPa, maximum: {a["maximum"]}, '
        f'rate: 100 kPa/s, curve: {{at: 0 {_half(a["maximum"])}, stretch: [1.0, 1.15, 1.4]}}}}'
        for i in range(1, int(a['count']) + 1)
    )
    return f"""\
body:
  kind: legs
  length: {a['length']}          # of a leg at rest
  radius: {a['radius']}
  inner_radius: {0.6 * _mm(a['radius']):.3g} mm
{_material(a, 2)}
  spacing_ratio: 0.6          # distance of two legs on the base over their length
  platform: {{radius: {a['platform']}, mass: 30 g}}
  legs:
{legs}

drives:                       # curve: stretch of the leg by pressure; `soro identify` fits it
{drives}

models:
  network: {{}}
"""


def _half(maximum: str) -> str:
    """Return half a pressure and the pressure, in kPa: '50 100 kPa'."""
    kilopascals = 1e-3 * parse(maximum, 'Pa')[0]
    return f'{0.5 * kilopascals:g} {kilopascals:g} kPa'


TEMPLATES = {
    'arm': Template(
        'a soft arm bent by pressure in chambers',
        (
            Question('length', 'length of the arm', '60 mm', 'm'),
            Question('radius', 'outer radius', '10 mm', 'm'),
            Question('young', "Young's modulus of the material", '120 kPa', 'Pa'),
            COUNT,
            Question('maximum', 'largest pressure', '0.6 bar', 'Pa'),
        ),
        _arm,
    ),
    'tendons': Template(
        'an elastic rod with discs, bent by tendons',
        (
            Question('length', 'length of the backbone', '200 mm', 'm'),
            Question('backbone', 'radius of the backbone', '0.7 mm', 'm'),
            Question('young', "Young's modulus of the backbone", '60 GPa', 'Pa'),
            Question('radius', 'distance of the tendons from the axis', '8 mm', 'm'),
            COUNT,
            Question('maximum', 'largest tension', '5 N', 'N'),
        ),
        _tendons,
    ),
    'legs': Template(
        'a platform on soft legs that stretch under pressure',
        (
            Question('length', 'length of a leg', '120 mm', 'm'),
            Question('radius', 'outer radius of a leg', '6 mm', 'm'),
            Question('young', "Young's modulus of the material", '2 MPa', 'Pa'),
            COUNT,
            Question('platform', 'radius at which the legs meet the platform', '40 mm', 'm'),
            Question('maximum', 'largest pressure', '100 kPa', 'Pa'),
        ),
        _legs,
    ),
}


def robot_text(kind: str, name: str, answers: dict[str, str]) -> str:
    """Return the robot file of a template, its comments included."""
    title = f'My robot {name}, {TEMPLATES[kind].summary}'
    return HEAD.format(name=name, title=title) + TEMPLATES[kind].write(answers)
