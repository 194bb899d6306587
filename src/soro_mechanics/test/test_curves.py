# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Check files of waypoints as spreadsheets write them."""

import numpy as np

from soro_mechanics.analysis.curves import read_curve


def test_waypoints_may_begin_with_a_byte_order_mark(tmp_path):
    file = tmp_path / 'points.csv'
    for head in ('x,y,z\n', ''):
        file.write_text(head + '0,0,0.1\n0.01,0,0.1\n', encoding='utf-8-sig')
        np.testing.assert_array_equal(read_curve(file).positions, [[0, 0, 0.1], [0.01, 0, 0.1]])
