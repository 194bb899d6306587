# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Eigenstiffness is printed as the force that it is, and the message says the same."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np

from soro_cli.verbs import compliance


def test_eigenstiffness_is_in_newtons(capsys):
    point = SimpleNamespace(
        principal_compliance=[0.02, 0.01, 0.001],
        principal_axis=np.eye(3),
        eigenstiffness=[1.5, 2.5, 4.37],
        eigenscrew_pitch=[0.001, 0.0, -0.001],
        matrix=np.eye(6),
    )
    compliance._show_point(point, 'ncm')
    shown = capsys.readouterr().out
    assert '4.37 N ' in shown and 'N/rad' not in shown


def test_the_message_says_so_too():
    message = Path(__file__).resolve().parents[2] / 'soro_msgs' / 'msg' / 'Compliance.msg'
    (line,) = (x for x in message.read_text().splitlines() if 'eigenstiffness' in x)
    assert line.split('#')[1].split(',')[0].strip() == 'N'
