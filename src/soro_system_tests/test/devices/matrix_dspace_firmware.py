# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The serial faults of the emulated real-time computer, with the reference task in C for a brain.

What the Python computer can be told to claim (another protocol, a repeated frame), C cannot.
Not collected by `make test`: `make reliability` runs them, or pytest with this file's name.
"""

from __future__ import annotations

from matrix_common import COLUMN
import pytest
from rig_robots import make_bench
import test_dspace_faults as faults
import test_dspace_line_faults as line_faults

pytestmark = pytest.mark.timeout(240)
MATRIX_COLUMN = COLUMN
CLAIMS = 'test_another_device_is_refused_at_once', 'test_the_same_frame_again_and_again'


@pytest.fixture(scope='module')
def robot_(tmp_path_factory):
    """Return one robot for the whole module."""
    robot = make_bench(COLUMN, tmp_path_factory.mktemp('robot')).robot
    try:
        yield robot.start()
    finally:
        robot.close()


for found in (faults, line_faults):
    own = {n: f for n, f in vars(found).items() if n.startswith('test_') and n not in CLAIMS}
    for name, test in own.items():
        # Both files have such a test; of the line it is another one.
        globals()[name if name not in globals() else f'{name}_on_the_line'] = test
