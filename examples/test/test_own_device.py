# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The device of one's own is found by its entry points, and passes the bench on its emulator."""

from __future__ import annotations

import os
from pathlib import Path
import subprocess
import sys

import pytest

from soro_rigs.held_up import undisturbed

FOLDER = Path(__file__).resolve().parents[1] / 'own_device'
SAID = ('device', 'armed', 'left', 'middle', 'right', 'stop', 'cable')


@pytest.fixture
def installed(tmp_path):
    """Return an environment that has the plug-in, as after `pip install examples/own_device`."""
    words = ['-c', 'from setuptools import setup; setup()', '-q', 'egg_info', '-e', str(tmp_path)]
    subprocess.run([sys.executable, *words], cwd=FOLDER, check=True)
    path = os.pathsep.join([str(FOLDER), str(tmp_path), os.environ.get('PYTHONPATH', '')])
    return {**os.environ, 'PYTHONPATH': path, 'XDG_DATA_HOME': str(tmp_path)}


def test_it_is_short():
    lines = [line for f in FOLDER.glob('*.py') for line in f.read_text().splitlines()]
    assert len([line for line in lines if line.strip()]) < 150


@pytest.mark.timeout(400)
@undisturbed
def test_it_passes_the_bench(installed):
    code = 'from soro_cli.main import main; main()'
    words = ['bench', str(FOLDER / 'robot.yaml'), '--yes']
    done = subprocess.run(
        [sys.executable, '-c', code, *words], env=installed, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert 'Traceback' not in done.stderr  # of the emulator's process
    for name in SAID:
        assert name in done.stdout
