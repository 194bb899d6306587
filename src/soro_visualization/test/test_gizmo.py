# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What ends a drag ends it for good: a hand that is still there has to take the gizmo anew."""

from __future__ import annotations

from dataclasses import replace

from fixed_shapes import shape
import numpy as np
import pytest
from viewer_rig import STATE

from soro_rigs.page_client import PageClient
from soro_visualization.page.readout import Snapshot

PLACE, FURTHER = (0.2, 0.0, 0.8), (0.3, 0.0, 0.7)
FAULT = 4


def moment(**of):
    return Snapshot(shape=shape(0.5), **{'actuators': STATE, **of})


def barrier(page, noted):
    """Have everything handled that a page has sent so far."""
    before = len(noted.of('analyze_workspace'))
    page.press('Compute the workspace')
    page.wait(lambda: len(noted.of('analyze_workspace')) > before, 5.0, 'end of what was sent')


def dragged(page, noted):
    page.grab('/target')
    page.pull('/target', PLACE)
    page.wait(lambda: noted.of('move_to'), 5.0, 'target')
    return len(noted.of('move_to'))


def button(label):
    return lambda viewer, page: page.press(label)


def shown(**of):
    return lambda viewer, page: viewer.show(moment(**of))


@pytest.mark.parametrize(
    'end',
    [
        button('STOP'),
        button('Release'),
        button('Clear'),
        shown(actuators=replace(STATE, stops=1)),
        shown(actuators=replace(STATE, device_state=FAULT)),
        shown(actuators=replace(STATE, source='/arm/other')),
        shown(silent=True),
    ],
    ids=['stop', 'release', 'clear', 'stop of another', 'fault', 'owner', 'silent'],
)
def test_a_hand_on_the_gizmo_sends_nothing_after_the_end(arm, end):
    viewer, page, noted = arm
    count = dragged(page, noted)
    with PageClient(viewer.address) as other:
        other.wait(lambda: 'STOP' in other.gui, 10.0, 'second page')
        end(viewer, other)
        barrier(other, noted)
        page.pull('/target', FURTHER)
        page.let_go('/target')
        barrier(page, noted)
        assert len(noted.of('move_to')) == count
        page.wait(lambda: 'take the arrows anew' in page.text(), 5.0, 'words')
        page.grab('/target')
        page.pull('/target', FURTHER)
        page.wait(lambda: len(noted.of('move_to')) > count, 5.0, 'target of a new drag')


def test_a_robot_taken_away_takes_back_what_has_not_gone_out(arm):
    viewer, page, noted = arm
    dragged(page, noted)
    viewer.show(moment(actuators=replace(STATE, stops=1)))
    assert noted.of('withdraw')


def test_letting_go_and_a_click_send_nothing(arm):
    _, page, noted = arm
    page.grab('/target')
    page.let_go('/target')
    barrier(page, noted)
    assert not noted.of('move_to')
    count = dragged(page, noted)
    page.let_go('/target')
    barrier(page, noted)
    assert len(noted.of('move_to')) == count


def test_a_page_that_is_lost_while_it_drags_sends_nothing(arm):
    viewer, page, noted = arm
    with PageClient(viewer.address) as other:
        other.wait(lambda: '/target' in other.scene, 10.0, 'second page')
        count = dragged(other, noted)
        page.press('STOP')
        barrier(page, noted)
    page.wait(lambda: len(viewer.server.get_clients()) == 1, 5.0, 'loss')
    barrier(page, noted)
    assert len(noted.of('move_to')) == count


def test_the_drag_of_one_page_is_not_continued_by_another(arm):
    viewer, page, noted = arm
    with PageClient(viewer.address) as other:
        other.wait(lambda: '/target' in other.scene, 10.0, 'second page')
        count = dragged(other, noted)
        page.grab('/target')
        barrier(page, noted)
        other.pull('/target', FURTHER)
        other.let_go('/target')
        barrier(other, noted)
        assert len(noted.of('move_to')) == count
        page.pull('/target', FURTHER)
        page.wait(lambda: len(noted.of('move_to')) > count, 5.0, 'target')


def test_after_a_stop_the_gizmo_stands_at_the_tip(arm):
    viewer, page, noted = arm
    dragged(page, noted)
    page.let_go('/target')
    viewer.show(moment())
    np.testing.assert_allclose(viewer._gizmo.position, PLACE)
    page.press('STOP')
    barrier(page, noted)
    viewer.show(moment())
    tip = shape(0.5).tip[:3, 3] * viewer.scene.zoom
    np.testing.assert_allclose(viewer._gizmo.position, tip)
