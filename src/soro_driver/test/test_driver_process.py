# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What the driver process loads, and what its documentation says."""

from __future__ import annotations

from pathlib import Path
import subprocess
import sys

import pytest
import yaml

from soro_driver.driver_parameters import PARAMETERS
from soro_rigs.parameter_table import markdown_table

ROOT = Path(__file__).resolve().parents[3]
HEAVY = ('scipy', 'numba', 'cvxpy', 'matplotlib', 'sympy', 'llvmlite', 'numpy.ma')


@pytest.mark.parametrize('robot', ['stiff_flop', 'stiff_flop_two_segment', 'spatial_cc'])
def test_no_heavy_module_in_the_driver_process(robot):
    code = f"""
import sys
from importlib.metadata import entry_points
import soro_driver.node
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file
from soro_driver.settings import read_driver_settings
read_robot_file(find_robot_file({robot!r}))
for point in entry_points(group='soro_driver.devices'):
    point.load()
from soro_nidaq_driver.client import import_client
import_client()
from soro_driver.loop.periodic import LoopStatistics
statistics = LoopStatistics(0.01)
statistics.add(0.0, 0.0)
statistics.figures()
print([m for m in {HEAVY!r} if m in sys.modules])
"""
    result = subprocess.run(
        [sys.executable, '-c', code], capture_output=True, text=True, timeout=60
    )
    assert result.stdout.strip() == '[]', result.stderr


def test_documented_parameters_are_the_table():
    page = (ROOT / 'docs/nodes/driver.md').read_text(encoding='utf-8')
    assert markdown_table(PARAMETERS) in page


def test_configured_parameters_exist():
    names = {p.name: p for p in PARAMETERS}
    data = yaml.safe_load((ROOT / 'config/nodes/driver.yaml').read_text(encoding='utf-8'))
    for name, value in data['/**/driver']['ros__parameters'].items():
        names[name].checked(value)
