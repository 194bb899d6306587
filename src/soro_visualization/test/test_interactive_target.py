# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The target for RViz, against a stand-in of interactive_markers (installed only with RViz)."""

from __future__ import annotations

import sys
from types import SimpleNamespace

from interactive_stand_in import feedback, StandIn
import numpy as np
import pytest
from visualization_msgs.msg import InteractiveMarkerControl, InteractiveMarkerFeedback

from soro_visualization.drawing.shape import rotation_matrix
from soro_visualization.interactive_target import (
    interactive_server,
    InteractiveTarget,
    target_marker,
)


def tip(z):
    pose = np.eye(4)
    pose[2, 3] = z
    return pose


def test_it_follows_the_tip_until_a_hand_takes_it():
    server, moved = StandIn(), []
    target = InteractiveTarget(server, 'arm/base_link', moved.append)
    target.follow(tip(0.04), 0.04)
    target.follow(tip(0.05), 0.04)
    assert len(server.inserted) == 1 and server.poses[-1].position.z == pytest.approx(0.05)
    feedback = InteractiveMarkerFeedback(event_type=InteractiveMarkerFeedback.POSE_UPDATE)
    feedback.pose.position.x, feedback.pose.orientation.w = 0.01, 1.0
    server.callback(feedback)
    assert moved[-1][:3, 3].tolist() == [0.01, 0.0, 0.0]
    target.follow(tip(0.06), 0.04)
    assert len(server.poses) == 1
    target.let_go()
    target.follow(tip(0.06), 0.04)
    assert len(server.poses) == 2


def test_a_hand_that_is_there_after_a_stop_has_to_take_it_anew():
    server, moved = StandIn(), []
    target = InteractiveTarget(server, 'arm/base_link', moved.append)
    target.follow(tip(0.04), 0.04)
    for kind in ('MOUSE_DOWN', 'POSE_UPDATE'):
        server.callback(feedback(kind))
    target.let_go()
    for kind in ('POSE_UPDATE', 'MOUSE_UP', 'POSE_UPDATE'):
        server.callback(feedback(kind))
    assert len(moved) == 1
    target.follow(tip(0.05), 0.04)
    assert server.poses[-1].position.z == pytest.approx(0.05)
    for kind in ('MOUSE_DOWN', 'POSE_UPDATE'):
        server.callback(feedback(kind))
    assert len(moved) == 2


def test_it_is_gone_while_nobody_knows_where_the_tip_is():
    server = StandIn()
    target = InteractiveTarget(server, 'arm/base_link', lambda pose: None)
    target.hide()
    assert not server.applied
    target.follow(tip(0.04), 0.04)
    target.hide()
    assert not server.inserted and server.applied == 2
    target.follow(tip(0.05), 0.04)
    assert server.inserted[-1].pose.position.z == pytest.approx(0.05)


def test_a_refused_drag_says_why_and_returns_to_the_tip():
    server = StandIn()
    target = InteractiveTarget(server, 'arm/base_link', lambda pose: None)
    target.answered('workspace: canceled', False)  # not about a drag
    target.follow(tip(0.04), 0.04)
    for kind in ('MOUSE_DOWN', 'POSE_UPDATE'):
        server.callback(feedback(kind))
    target.answered('UNREACHABLE', False)
    target.follow(tip(0.04), 0.04)
    assert len(server.inserted) == 1  # a hand holds it: it stays as it is
    server.callback(feedback('MOUSE_UP'))
    target.follow(tip(0.05), 0.04)
    told = server.inserted[-1]
    assert 'UNREACHABLE' in told.description and told.pose.position.z == pytest.approx(0.05)
    assert told.controls[0].markers[0].color.r > 4.0 * told.controls[0].markers[0].color.g
    target.follow(tip(0.06), 0.04)
    assert server.poses[-1].position.z == pytest.approx(0.06)
    for kind in ('MOUSE_DOWN', 'POSE_UPDATE'):
        server.callback(feedback(kind))
    target.answered('solved', True)
    server.callback(feedback('MOUSE_UP'))
    target.follow(tip(0.06), 0.04)
    assert 'refused' not in server.inserted[-1].description
    count = len(server.poses)
    target.follow(tip(0.07), 0.04)
    assert len(server.poses) == count  # it stays where the robot is going


def test_an_answer_that_comes_after_the_hand_has_left_returns_it_too():
    server = StandIn()
    target = InteractiveTarget(server, 'arm/base_link', lambda pose: None)
    target.follow(tip(0.04), 0.04)
    for kind in ('MOUSE_DOWN', 'POSE_UPDATE', 'MOUSE_UP'):
        server.callback(feedback(kind))
    target.answered('AT_LIMIT', False)
    target.follow(tip(0.05), 0.04)
    assert 'AT_LIMIT' in server.inserted[-1].description
    target.follow(tip(0.06), 0.04)
    assert server.poses[-1].position.z == pytest.approx(0.06)


def test_its_arrows_lie_along_the_three_axes():
    marker = target_marker('arm/base_link', tip(0.04), 0.04)
    assert marker.header.frame_id == 'arm/base_link'
    arrows = {}
    for control in marker.controls:
        if control.interaction_mode == InteractiveMarkerControl.MOVE_AXIS:
            o = control.orientation
            # A control acts along its own x.
            direction = rotation_matrix(np.array([o.x, o.y, o.z, o.w]))[:, 0]
            arrows[control.name] = np.abs(direction).round(9).tolist()
    assert arrows == {'move_x': [1, 0, 0], 'move_y': [0, 1, 0], 'move_z': [0, 0, 1]}


def test_without_the_package_there_is_no_server(monkeypatch):
    monkeypatch.setitem(sys.modules, 'interactive_markers', None)
    assert interactive_server(object()) is None
    monkeypatch.setitem(
        sys.modules, 'interactive_markers', SimpleNamespace(InteractiveMarkerServer=StandIn)
    )
    assert interactive_server('node').arguments == ('node', 'target')
