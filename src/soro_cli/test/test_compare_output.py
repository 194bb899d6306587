# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What `soro compare` says below its table."""

from types import SimpleNamespace

import pytest

from soro_cli.verbs import compare


@pytest.mark.parametrize(
    ('spread', 'line'), [(0.002, 'apart by up to 2 mm, 0 deg: a hint'), (float('nan'), 'a hint')]
)
def test_one_model_alone_is_not_nan_apart(capsys, spread, line):
    tip = SimpleNamespace(position=[0.0, 0.0, 0.1], bending=0.0)
    one = SimpleNamespace(model='ncm', tip=tip, solve_time=0.001, stability='stable')
    turn = spread * 0.0
    answer = SimpleNamespace(
        configurations=[one], position_spread=spread, orientation_spread=turn, hint='a hint'
    )
    compare._show(answer)
    assert capsys.readouterr().out.splitlines()[-1] == line
