# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Robot files made from a few answers: a soft arm, a tendon arm, a platform on soft legs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import math
from pathlib import Path
import string

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
    """A kind of robot: what is asked, and what follows from the answers for its file.

    That is `templates/<kind>.yaml`; a line that begins with @ stands there for every actuator.
    """

    summary: str
    questions: tuple[Question, ...]
    derived: Callable[[dict[str, str]], dict[str, str]]


COUNT = Question('count', 'how many of them', '3', '')


def _mm(text: str) -> float:
    return 1e3 * parse(text, 'm')[0]


def _of_arm(a: dict[str, str]) -> dict[str, str]:
    radius = _mm(a['radius'])
    area = math.pi * (0.2 * radius) ** 2
    return {'area': f'{area:.3g} mm^2', 'offset': f'{0.6 * radius:.3g} mm'}


def _of_legs(a: dict[str, str]) -> dict[str, str]:
    kilopascals = 1e-3 * parse(a['maximum'], 'Pa')[0]
    half = f'{0.5 * kilopascals:g} {kilopascals:g} kPa'
    return {'inner_radius': f'{0.6 * _mm(a["radius"]):.3g} mm', 'half': half}


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
        _of_arm,
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
        lambda a: {},
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
        _of_legs,
    ),
}


def robot_text(kind: str, name: str, answers: dict[str, str]) -> str:
    """Return the robot file of a template, its comments included."""
    template, count = TEMPLATES[kind], int(answers['count'])
    title = f'My robot {name}, {template.summary}'
    values = {**answers, **template.derived(answers), 'name': name, 'title': title}
    lines: list[str] = []
    text = Path(__file__).with_name('templates') / f'{kind}.yaml'
    for line in text.read_text(encoding='utf-8').splitlines():
        each = range(count) if line.startswith('@') else range(1)
        lines += (
            string.Template(line.removeprefix('@')).substitute(
                values, i=i + 1, angle=f'{360.0 * i / count:g} deg'
            )
            for i in each
        )
    return '\n'.join(lines) + '\n'
