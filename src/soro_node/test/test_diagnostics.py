# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What a node says of itself is a message when it is sent, and then what was said last."""

from __future__ import annotations

from diagnostic_msgs.msg import DiagnosticArray
import pytest
from rclpy.node import Node

from soro_node import diagnostics
from soro_node.diagnostics import Diagnostics, Level
from soro_rigs.domains import own_domain
from soro_rigs.ros_session import RosSession, wait_until


@pytest.mark.parametrize('timed', [True, False])
def test_values_are_the_newest_and_a_change_goes_out_at_once(timed, monkeypatch):
    monkeypatch.setenv('ROS_DOMAIN_ID', str(own_domain()))
    made, entry = [], diagnostics.KeyValue
    with RosSession() as ros:
        heard = ros.listen(DiagnosticArray, '/diagnostics')
        node = Node('speaker', context=ros.context)
        said = Diagnostics(node, timed=timed)
        ros.spin(node)
        wait_until(lambda: node.count_subscribers('/diagnostics') > 0)
        assert said.status('part') is None
        said.report('part', Level.OK, 'well', number=0)
        monkeypatch.setattr(diagnostics, 'KeyValue', lambda **of: (made.append(1), entry(**of))[1])
        for number in range(1, 200):
            said.report('part', Level.OK, 'well', number=number, length=1.0 / 3.0, text='a')
        # A loop that publishes itself does the work tick by tick, not all of it in one.
        assert len(made) < 60 if timed else len(made) == 597
        said.publish()
        said.report('part', Level.WARN, 'worse')
        wait_until(lambda: heard and heard[-1].status[0].message == 'worse')
        whole = [m.status[0] for m in heard if m.status[0].message == 'well'][-1]
        assert {v.key: v.value for v in whole.values} == {
            'number': '199',
            'length': '0.333333',
            'text': 'a',
        }
        assert whole.name == '/speaker: part' and whole.hardware_id == 'speaker'
        assert said.status('part').level == b'\x01'
