# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The controller that docs/own_controller.md prints reaches its goal, and a stop ends it."""

from pathlib import Path
import re
import subprocess
import sys

import pytest

PAGE = Path(__file__).resolve().parents[3] / 'docs' / 'own_controller.md'
CODE = re.compile(r'^```python\n(.*?)^```', re.MULTILINE | re.DOTALL)
GOAL, NEAR = 0.045, 0.2e-3  # m
PATIENCE = 30.0  # s


@pytest.mark.timeout(300)
@pytest.mark.robot('stiff_flop', 'tracker:=true', 'viewer:=true')
def test_it_lifts_the_tip_and_a_stop_ends_it(running, tmp_path):
    (code,) = CODE.findall(PAGE.read_text(encoding='utf-8'))
    script = tmp_path / 'lift.py'
    script.write_text(code)

    def error():
        return abs(running.shapes['emulator/configuration'].tip.position.z - GOAL)

    running.wait(lambda: 'emulator/configuration' in running.shapes, PATIENCE, 'truth')
    assert error() > 10 * NEAR
    with subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as controller:
        try:
            running.wait(lambda: error() < NEAR, PATIENCE, 'tip at its goal')
            assert running.call('driver/stop').success
            running.wait(lambda: controller.poll() is not None, PATIENCE, 'end of the script')
        finally:
            controller.kill()
        assert 'the robot was stopped' in controller.stdout.read()
        assert controller.returncode == 1
    running.wait(lambda: max(running.watch.state.measured) < 2e3, PATIENCE, 'pressures let out')
