# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The viewer over its websocket, without a browser and without ROS."""

from __future__ import annotations

from dataclasses import replace
import math
import re
import socket
from types import SimpleNamespace

from fixed_shapes import shape, straight
import numpy as np
import pytest
from viewer_rig import Noted, STATE

from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file
from soro_rigs import page_client
from soro_rigs.page_client import PageClient
from soro_visualization.drawing.ellipsoids import Ellipsoids
from soro_visualization.drawing.scene_meshes import LINEAR
from soro_visualization.drawing.shape import rotation_matrix
from soro_visualization.page.readout import ActuatorReadout, Snapshot
from soro_visualization.page.scene import FIELD_OF_VIEW, GIZMO, PANEL, STALE
from soro_visualization.page.viewer import derived_port, Viewer
from soro_visualization.playback import Playback, Recording


def test_it_is_bound_to_loopback_and_nothing_in_the_page_leads_elsewhere(arm):
    viewer, page, _ = arm
    host, port = re.fullmatch(r'http://(.+):(\d+)', viewer.address).groups()
    assert host == '127.0.0.1'
    with socket.socket() as other, pytest.raises(OSError):
        other.settimeout(2.0)
        other.connect(('127.0.0.2', int(port)))  # what is bound to 0.0.0.0 answers here too
    html = page.html()
    assert '<script' in html
    assert not re.search(r'(src|href)="(https?:)?//', html)


def test_the_robot_is_drawn_in_units_of_its_extent(arm):
    viewer, page, _ = arm
    tubes = page.scene['/robot']
    positions = tubes['batched_positions'].reshape(-1, 3)
    assert positions.shape == (20, 3)
    assert np.linalg.norm(positions, axis=1).max() == pytest.approx(1.0, abs=0.05)
    assert tubes['batched_colors'].reshape(-1, 3).shape == (20, 3)
    viewer.show(Snapshot(shape=shape(1.0), ghost=shape(1.2), actuators=STATE, time=2.0))
    page.wait(lambda: '/ghost' in page.scene, 5.0, 'ghost')
    moved = page.scene['/robot']['batched_positions'].reshape(-1, 3)
    assert np.abs(moved - positions).max() > 0.05
    viewer.show(Snapshot(shape=shape(1.0), actuators=STATE, time=3.0))
    page.wait(lambda: page.scene['/ghost'].get('visible') is False, 5.0, 'end of the ghost')


def test_a_hanging_robot_hangs_in_the_page_too():
    hanging = replace(shape(0.5), gravity=np.array([0.0, 0.0, 9.81]))
    description = read_robot_file(find_robot_file('stiff_flop'))
    viewer = Viewer(description, port=derived_port('test_hanging'))
    try:
        viewer.show(Snapshot(shape=hanging, time=1.0))
        with PageClient(viewer.address) as page:
            page.wait(lambda: '/ground' in page.scene, 10.0, 'ground')
            below = np.array(page.scene['/ground']['position'])
    finally:
        viewer.close()
    tip = hanging.tip[:3, 3] / hanging.extent
    assert below[2] > tip[2] > 0.5  # z points down: the ground lies beyond the tip
    w, x, y, z = viewer.server.scene.get_handle_by_name('/ground').wxyz
    normal = rotation_matrix(np.array([x, y, z, w]))[:, 2]
    np.testing.assert_allclose(normal, [0.0, 0.0, -1.0], atol=1e-12)
    eye = viewer.server.initial_camera.position
    assert eye[2] < tip[2]  # looked at from above


def test_the_panel_says_what_the_device_does(arm):
    _, page, _ = arm
    page.wait(lambda: 'ACTIVE' in page.text(), 5.0, 'status')
    text = page.text()
    assert 'trajectory_planner' in text and '0.100 bar' in text
    assert 'slowed' in text and 'sensor fault' in text
    slider = page.gui['pair_1 [bar]']
    assert (slider['min'], slider['max']) == (0.0, 1.5)


def test_text_of_files_and_nodes_is_text_on_the_page():
    hostile = '<img src=x onerror=alert(1)> x < 3'
    description = replace(read_robot_file(find_robot_file('stiff_flop')), title=hostile)
    viewer = Viewer(description, port=derived_port('test_text'), controls=Noted())
    try:
        viewer.show(Snapshot(shape=shape(0.5), time=1.0))
        viewer.show_solution(None, hostile, False, True)
        viewer.panel.sliders._say(hostile)
        with PageClient(viewer.address) as page:
            page.wait(lambda: page.text().count('x &lt; 3') == 3, 10.0, 'text')
            assert '<img' not in page.text()
            assert '<img' not in page.html()
    finally:
        viewer.close()


def test_a_slider_sends_all_actuators_in_si_and_coupled_limits_hold(arm):
    viewer, page, noted = arm
    page.set('pair_1 [bar]', 0.8)
    page.wait(lambda: noted.of('actuate'), 5.0, 'actuation')
    np.testing.assert_allclose(noted.of('actuate')[-1][0], [0.8e5, 0.0, 0.0])
    page.set('pair_2 [bar]', 0.5)
    page.wait(lambda: len(noted.of('actuate')) == 2, 5.0, 'second actuation')
    np.testing.assert_allclose(noted.of('actuate')[-1][0], [0.8e5, 0.5e5, 0.0])
    # 1.5 bar in one pair only: 1.5 + 0.25 * 0.5 is too much
    page.set('pair_1 [bar]', 1.5)
    page.wait(lambda: 'not sent' in page.text(), 5.0, 'refusal')
    assert len(noted.of('actuate')) == 2
    page.press('All to rest')
    page.wait(lambda: len(noted.of('actuate')) == 3, 5.0, 'rest')
    np.testing.assert_allclose(noted.of('actuate')[-1][0], 0.0)


@pytest.mark.parametrize('value', [math.nan, math.inf, -math.inf, 1.6, -0.1])
def test_what_no_slider_sends_is_refused_and_forgotten(arm, value):
    viewer, page, noted = arm
    page.set('pair_1 [bar]', value)
    page.wait(lambda: 'beyond the limits of pair_1: not sent' in page.text(), 5.0, 'refusal')
    assert viewer.panel.sliders._sliders[0].value == 0.0
    page.set('pair_2 [bar]', 0.5)
    page.wait(lambda: noted.of('actuate'), 5.0, 'actuation')
    np.testing.assert_allclose(noted.of('actuate'), [[[0.0, 0.5e5, 0.0]]])


@pytest.mark.parametrize('bad', [math.nan, math.inf])
def test_a_target_that_is_no_pose_is_refused_and_the_gizmo_returns(arm, bad):
    viewer, page, noted = arm
    page.grab('/target')
    page.pull('/target', (0.0, bad, 0.5))
    page.wait(lambda: 'no pose: not sent' in page.text(), 5.0, 'refusal')
    page.let_go('/target')
    page.grab('/target')
    page.scene['/target']['wxyz'] = (0.0, 0.0, 0.0, 0.0)
    page.pull('/target', (0.0, 0.0, 0.5))
    page.set('must be met', 'nonsense')
    page.press('STOP')
    page.wait(lambda: noted.of('stop'), 5.0, 'end of what was sent')
    assert not noted.of('move_to')
    assert viewer.panel.task == 'position'
    viewer.show(Snapshot(shape=shape(0.5), actuators=STATE, time=2.0))
    assert np.isfinite(viewer._gizmo.position).all()


def test_a_moment_that_the_page_server_misses_ends_nothing(arm, monkeypatch):
    viewer, *_ = arm

    def fails(*_):
        raise RuntimeError(why)

    monkeypatch.setattr(viewer.scene, 'show', fails)
    why = 'deque mutated during iteration'
    viewer.show(Snapshot(shape=shape(0.5), time=2.0))
    why = 'of our own'
    with pytest.raises(RuntimeError, match=why):
        viewer.show(Snapshot(shape=shape(0.5), time=2.0))


def test_a_slider_follows_what_is_applied_and_sends_nothing_by_itself(arm):
    viewer, page, noted = arm
    viewer._panel_due = 0.0
    applied = np.array([3.0e4, 0.0, 0.0])
    state = ActuatorReadout(applied, applied, applied, (0, 0, 0), 2)
    viewer.show(Snapshot(shape=shape(0.5), actuators=state, time=2.0))
    page.wait(lambda: page.gui['pair_1 [bar]']['value'] == pytest.approx(0.3), 5.0, 'slider')
    assert not noted.of('actuate')


@pytest.mark.parametrize(
    ('label', 'asked'), [('STOP', 'stop'), ('Release', 'release'), ('Clear', 'clear_fault')]
)
def test_what_ends_a_target_on_the_page_ends_what_the_sliders_hold(arm, label, asked):
    viewer, page, noted = arm
    page.set('pair_1 [bar]', 0.8)
    page.wait(lambda: noted.of('actuate'), 5.0, 'actuation')
    page.press(label)
    page.wait(lambda: () in noted.of(asked), 5.0, asked)
    viewer._panel_due = 0.0
    viewer.show(Snapshot(shape=shape(0.5), actuators=STATE, time=2.0))
    assert viewer.panel.sliders._sliders[0].value == 0.0  # what is applied, at once


def test_the_shape_of_a_silent_solver_is_grey_and_cannot_be_dragged(arm):
    viewer, page, _ = arm

    def colours():
        return page.scene['/robot']['batched_colors'].reshape(-1, 3)

    page.wait(lambda: 'solved' in page.text(), 5.0, 'status')
    assert not (colours() == LINEAR[list(STALE)]).all()
    words = {'kinematics_solver: solver': (2, 'no convergence')}
    for silent, word in ((True, 'no convergence'), (False, 'solved')):
        viewer._panel_due = 0.0
        viewer.show(
            Snapshot(shape=shape(0.5), silent=silent, actuators=STATE, words=words, time=2.0)
        )
        page.wait(lambda word=word: word in page.text(), 5.0, word)
        assert ('solved' in page.text()) is not silent
        assert (colours() == LINEAR[list(STALE)]).all() == silent
        assert page.scene['/target']['visible'] is not silent


def test_the_last_shape_of_a_recording_is_not_a_silent_solvers_and_its_clock_stays_one():
    description = read_robot_file(find_robot_file('stiff_flop'))
    entries = [
        SimpleNamespace(topic='/arm/configuration', stamp=t * 10**9, message=straight())
        for t in (0, 10)
    ]

    def messages(topics, start=0, end=10**12):
        return [e for e in entries if start <= e.stamp < end]

    recording = Recording(SimpleNamespace(messages=messages), '/arm')
    viewer = Viewer(description, port=derived_port('test_playback'))
    try:
        playback = Playback(viewer, recording, description)
        playback.step(5.0)
        with PageClient(viewer.address) as page:
            page.wait(lambda: '/robot' in page.scene and 'solved' in page.text(), 10.0, 'shape')
            for value in (math.nan, math.inf, -1.0):  # of a program; no slider sends it
                page.set('time [s]', value)
                page.set('speed', str(value))
            page.set('play', False)
            page.wait(lambda: not playback._playing, 5.0, 'end of what was sent')
            playback.step(0.1)
            assert (playback._at, playback._speed) == (5.0, 1.0)
            colours = page.scene['/robot']['batched_colors'].reshape(-1, 3)
            assert not (colours == LINEAR[list(STALE)]).all()
            assert 'no configuration' not in page.text()
    finally:
        viewer.close()


def test_dragging_asks_for_a_pose_in_metres(arm):
    viewer, page, noted = arm
    tip = shape(0.5).tip[:3, 3]
    place = tuple((tip * viewer.scene.zoom + [0.1, 0.0, -0.1]).tolist())
    page.drag('/target', place)
    page.wait(lambda: len(noted.of('move_to')) >= 5, 5.0, 'targets')
    pose, task, follow = noted.of('move_to')[-1]
    np.testing.assert_allclose(
        pose[:3, 3], tip + np.array([0.1, 0.0, -0.1]) / viewer.scene.zoom, atol=1e-9
    )
    assert (task, follow) == ('position', True)
    page.set('robot follows', False)
    page.set('must be met', 'pose')
    page.wait(lambda: page.scene['/target'].get('disable_rotations') is False, 5.0, 'rings')
    page.drag('/target', place)
    page.wait(lambda: noted.of('move_to')[-1][1:] == ('pose', False), 5.0, 'pose target')


def test_stop_is_asked_for_at_once(arm):
    _, page, noted = arm
    page.press('STOP')
    page.wait(lambda: noted.of('stop'), 5.0, 'stop')


def test_layers_are_switched(arm):
    viewer, page, noted = arm
    points = np.array([[0.0, 0.0, 0.04], [0.01, 0.0, 0.03], [0.0, 0.01, 0.03]])
    viewer.show_cloud(points, np.array([0.1, 0.01, 0.05]))
    page.wait(lambda: '/workspace' in page.scene, 5.0, 'cloud')
    assert 'stiffness in the softest direction' in viewer.scene.legends['workspace']
    assert '10 N/m' in viewer.scene.legends['workspace']
    page.set('compliance ellipsoids', True)
    page.wait(lambda: ('ellipsoids', True) in noted.of('watch'), 5.0, 'wish for ellipsoids')
    page.set('workspace', False)
    page.wait(lambda: page.scene['/workspace'].get('visible') is False, 5.0, 'hidden cloud')
    viewer.show_path('desired', points)
    page.wait(lambda: '/paths/desired' in page.scene, 5.0, 'path')
    viewer.show_path('desired', points[:1])
    page.wait(lambda: page.scene['/paths/desired'].get('visible') is False, 5.0, 'no path')
    page.set('desired and actual path', False)
    page.wait(lambda: ('paths', False) in noted.of('watch'), 5.0, 'switch')
    page.scene.pop('/paths/desired')
    viewer.show_path('desired', points[::-1])  # it comes once, and nobody looks
    page.set('desired and actual path', True)
    page.wait(
        lambda: 'points' in page.scene.get('/paths/desired', {}), 5.0, 'path that came unseen'
    )
    drawn = page.scene['/paths/desired']['points'].reshape(-1, 3)[0]
    np.testing.assert_allclose(drawn, points[-1] * viewer.scene.zoom, rtol=1e-6)


def test_a_load_is_an_arrow_with_its_size(arm):
    viewer, page, _ = arm
    viewer.show(Snapshot(shape=shape(0.5, (0.0, 0.0, -0.25)), actuators=STATE, time=2.0))
    page.wait(lambda: '/load' in page.scene, 5.0, 'arrow')
    assert '0.25 N' in viewer.scene.legends['load']
    viewer.show(Snapshot(shape=shape(0.5), actuators=STATE, time=3.0))
    page.wait(lambda: page.scene['/load'].get('visible') is False, 5.0, 'no arrow')


def test_what_is_silent_shows_no_numbers_no_load_and_no_ellipsoids(arm):
    viewer, page, noted = arm
    page.set('compliance ellipsoids', True)
    page.wait(lambda: ('ellipsoids', True) in noted.of('watch'), 5.0, 'switch')
    loaded = shape(0.5, (0.0, 0.0, -0.25))
    viewer.show(Snapshot(shape=loaded, actuators=STATE, time=2.0))
    viewer.show_ellipsoids(
        Ellipsoids(np.zeros((1, 3)), np.eye(3)[None], np.full((1, 3), 1e-3), 0.1, 1.0, 0.1)
    )
    page.wait(lambda: {'/load', '/ellipsoids'} <= set(page.scene), 5.0, 'arrow and ellipsoids')
    page.wait(lambda: '0.100 bar' in page.text(), 5.0, 'numbers')
    viewer._panel_due = 0.0
    viewer.show(Snapshot(shape=loaded, silent=True, time=3.0))
    for name in ('/load', '/ellipsoids'):
        page.wait(lambda n=name: page.scene[n].get('visible') is False, 5.0, f'end of {name}')
    page.wait(lambda: '0.100 bar' not in page.text(), 5.0, 'end of the numbers')
    assert not {'load', 'ellipsoids'} & set(viewer.scene.legends)


def test_a_taken_port_is_stepped_over_and_the_address_is_the_real_one(arm):
    viewer, _, _ = arm
    description = read_robot_file(find_robot_file('soft_parallel'))
    second = Viewer(description, port=viewer.server.get_port())
    try:
        assert second.address != viewer.address
        second.show(Snapshot(shape=shape(0.5)))
        with PageClient(second.address) as page:
            page.wait(lambda: '/robot' in page.scene, 10.0, 'robot')
            # nothing to ask for without controls
            assert 'STOP' not in page.gui and '/target' not in page.scene
    finally:
        second.close()


def test_ports_differ_between_namespaces_and_stay(monkeypatch):
    assert derived_port('/left') == derived_port('left/') != derived_port('/right')
    monkeypatch.setenv('ROS_DOMAIN_ID', '99')
    assert 8100 <= derived_port('left') < 8900


@pytest.mark.parametrize(
    ('actuators', 'words', 'said'),
    [
        (None, {}, 'no driver answers'),
        (None, {'driver: device': (1, 'waiting: no CAN')}, 'waiting: no CAN'),
        (replace(STATE, device_state=1), {}, 'INACTIVE: not armed'),
        (replace(STATE, device_state=4), {}, 'FAULT: latched'),
        (
            replace(STATE, device_state=1),
            {'driver: device': (0, 'safe; call driver/clear_fault')},
            'safe; press Clear',
        ),
        (replace(STATE, device_state=3, stopped=True), {}, 'stopped, or commands or device lost'),
        (STATE, {'trajectory_planner: kernels': (1, 'compiling')}, 'trajectory_planner: compil'),
    ],
)
def test_a_robot_that_does_not_move_says_why_and_takes_no_targets(arm, actuators, words, said):
    viewer, page, _ = arm
    viewer._panel_due = 0.0
    viewer.show(
        Snapshot(shape=shape(0.5), actuators=actuators, words=words, at_rest=not words, time=2.0)
    )
    page.wait(lambda: f'Does not move: {said}' in page.text(), 5.0, 'banner')
    assert ('drawn at rest' in page.text()) is (not words)
    assert page.gui['pair_1 [bar]']['disabled'] and page.gui['All to rest']['disabled']
    assert not page.gui['STOP']['disabled'] and not page.gui['Clear']['disabled']
    viewer._panel_due = 0.0
    viewer.show(Snapshot(shape=shape(0.5), actuators=STATE, time=3.0))
    page.wait(lambda: not page.gui['pair_1 [bar]']['disabled'], 5.0, 'sliders')
    assert 'Does not move' not in page.text()


def test_the_page_has_the_robots_title_and_presses_stop_by_key(arm):
    html = arm[1].html()
    title = re.search('<title>(.*?)</title>', html).group(1)
    assert title == 'STIFF-FLOP pneumatic manipulator, one segment - soro'
    assert "e.key === 'Escape'" in html and 'prefers-color-scheme' in html


def test_a_workspace_that_is_sampled_shows_how_far_and_can_be_cancelled(arm):
    viewer, page, noted = arm
    button = page.gui['Compute the workspace']
    for computing, label, asked in (
        (0.4, 'Cancel the workspace (40% done)', 'cancel_workspace'),
        (None, 'Compute the workspace', 'analyze_workspace'),
    ):
        viewer._panel_due = 0.0
        viewer.show(Snapshot(shape=shape(0.5), actuators=STATE, computing=computing, time=2.0))
        page.wait(lambda label=label: button['label'] == label, 5.0, label)
        assert not noted.of(asked)
        page.press('Compute the workspace')
        page.wait(lambda asked=asked: noted.of(asked), 5.0, asked)


def test_plots_are_in_readable_numbers(arm):
    viewer, page, _ = arm
    for i in range(4):
        viewer._plots_due = 0.0
        ghost = replace(shape(0.5), tip=shape(0.5).tip + 1e-17)
        viewer.show(Snapshot(shape=shape(0.5), ghost=ghost, actuators=STATE, time=2.0 + i))
    error = viewer.plots._error
    assert error.data[0][-1] == 0.0 and error.data[0][0] == pytest.approx(-4.0)
    assert np.nanmax(np.abs(error.data[1])) == 0.0  # mm: no rounding of the solver's


def test_a_page_higher_than_wide_has_robot_and_gizmo_above_the_panel(monkeypatch):
    upright = replace(page_client.CAMERA, image_width=390, image_height=844)
    monkeypatch.setattr(page_client, 'CAMERA', upright)
    description = read_robot_file(find_robot_file('stiff_flop'))
    viewer = Viewer(description, port=derived_port('test_upright'))
    try:
        viewer.show(Snapshot(shape=shape(0.5), time=1.0))
        with PageClient(viewer.address) as page:
            page.wait(lambda: viewer.server.get_clients(), 5.0, 'page')
            (client,) = viewer.server.get_clients().values()
            page.wait(lambda: np.any(client.camera.look_at), 5.0, 'camera')
            page.receive(0.2)
            eye, seen = np.array(client.camera.position), np.array(client.camera.look_at)
    finally:
        viewer.close()
    ahead = (seen - eye) / np.linalg.norm(seen - eye)
    up = np.array([0.0, 0.0, 1.0]) - ahead[2] * ahead
    up /= np.linalg.norm(up)
    tip = shape(0.5).tip
    hand = tip[:3, 3] / shape(0.5).extent + GIZMO * tip[:3, 2]
    for place in (np.zeros(3), hand):
        away = place - eye
        unit = (away @ ahead) * np.tan(0.5 * FIELD_OF_VIEW)  # half of the page's height there
        assert 1.0 - 2.0 * (1.0 - PANEL) < away @ up / unit < 1.0
        assert abs(away @ np.cross(ahead, up)) / unit < 390 / 844
