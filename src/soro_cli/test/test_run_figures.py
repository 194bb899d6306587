# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""soro plot and soro identify on a recording whose truth is known."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
import re
import shutil
from types import SimpleNamespace
import weakref

from matplotlib.figure import Figure
import numpy as np
from PIL import Image
import pytest
from recorded_run import HOLD, MOUNTED, PERIOD, RecordedRun

from soro_mechanics.identification.fit import identify, predict
from soro_mechanics.robot import Robot
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file
from soro_node.display_units import SHOWN
from soro_node.user_errors import UserError
from soro_recording.bag_reader import _Types, BagReader, Recorded
from soro_recording.open_bag import default_folder, open_bag
from soro_recording.run_data import choose_namespace, distance_to_path, RunData
from soro_recording.run_figures import _actuation, Drawn, FIGURES, save_figure
from soro_recording.run_player import _scale, PLAYER


def test_plot_draws_every_figure_and_a_player_that_needs_no_network(recorded, soro, tmp_path):
    done = soro('plot', str(recorded.folder), '-o', 'figures', '--json')
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    names = {Path(f).name for f in answer['files']}
    assert names == {PLAYER, *(f'{name}.png' for name in FIGURES)}
    assert names == {
        'actuation.png',
        'tip.png',
        'shape.png',
        'path.png',
        'stiffness.png',
        'timing.png',
        'player.html',
    }
    for name in names - {'player.html'}:
        with Image.open(tmp_path / 'figures' / name) as image:
            assert min(image.size) > 400
            assert len(image.convert('L').getcolors()) > 20  # something is drawn
    numbers = answer['numbers']
    # The actual path was written 2 mm beside the desired one, the states every 100 ms.
    assert numbers['path']['path_1_rmse'] == pytest.approx(2e-3, rel=1e-6)
    assert numbers['timing']['actuator_state_period'] == pytest.approx(0.1, abs=1e-6)
    assert numbers['actuation']['actuator_1_rmse'] == 0.0
    page = (tmp_path / 'figures' / 'player.html').read_text()
    assert not re.search(r'(src|href)\s*=|https?://|@import|fetch\(|XMLHttp', page)
    data = json.loads(re.search(r'const run = (\{.*\});\n', page)[1])
    assert data['actuators'] == ['actuator_1', 'actuator_2', 'actuator_3']
    assert len(data['time']) == len(data['shapes'][0]) == 24 * HOLD


@pytest.mark.parametrize(
    ('kind', 'head'), [('png', b'\x89PNG'), ('pdf', b'%PDF'), ('svg', b'<?xml')]
)
def test_a_figure_is_of_the_format_that_was_asked_for(tmp_path, kind, head):
    written = Drawn('empty', Figure(), {}).save(tmp_path, kind)
    assert written.name == f'empty.{kind}' and written.read_bytes().startswith(head)


def test_actuators_come_in_the_order_of_the_robot_file(recorded):
    with BagReader(recorded.folder) as bag:
        run = RunData(bag, choose_namespace(bag, None))
        data, shapes = run.actuation, run.shapes()
        np.testing.assert_array_equal(data.measured, shapes.actuation)
        assert data.names == ('actuator_1', 'actuator_2', 'actuator_3')
        with pytest.raises(UserError, match='recorded: arm'):
            choose_namespace(bag, 'leg')


@pytest.mark.usefixtures('unpainted')
@pytest.mark.parametrize('words', [('plot',), ('identify', '--fix', 'linear')])
def test_decoded_shapes_are_not_kept(recorded, soro, monkeypatch, words):
    # An hour of them takes gigabytes.
    decode, alive, most = Recorded.message.fget, set(), 0

    def counted(entry):
        nonlocal most
        message = decode(entry)
        if hasattr(message, 'backbones'):
            alive.add(id(message))
            weakref.finalize(message, alive.discard, id(message))
            most = max(most, len(alive))
        return message

    monkeypatch.setattr(Recorded, 'message', property(counted))
    done = soro(words[0], str(recorded.folder), *words[1:])
    assert done.returncode == 0, done.stderr
    assert 0 < most <= 3


def test_thirty_actuators_have_panels_whose_legends_fit():
    description = read_robot_file(find_robot_file('pam_continuum'))
    rest = np.array([[a.rest for a in description.actuators]] * 2)
    data = SimpleNamespace(time=np.arange(2.0), commanded=rest, measured=rest, stand_in=rest)
    run = SimpleNamespace(description=description, actuators=description.actuators, actuation=data)
    figure = _actuation(run).figure
    figure.draw_without_rendering()
    names = []
    for panel in figure.axes:
        legend, box = panel.get_legend(), panel.get_window_extent()
        names += [t.get_text() for t in legend.get_texts() if t.get_text().startswith('muscle')]
        colours = {line.get_color() for line in panel.lines if line.get_label() in names}
        assert len(colours) == 6
        within = legend.get_window_extent()
        assert box.y0 <= within.y0 < within.y1 <= box.y1
    assert names == [a.name for a in description.actuators]


def test_every_quantity_is_drawn_in_its_own_unit_with_its_limits(tmp_path):
    page = Path(__file__).resolve().parents[3] / 'docs/robot_file.md'
    blocks = re.findall(r'```yaml\n(.*?)```', page.read_text(encoding='utf-8'), re.DOTALL)
    file = tmp_path / 'mixed.yaml'
    file.write_text(next(b for b in blocks if 'quantity: force' in b))
    description = read_robot_file(file)
    actuators = description.actuators
    most = np.array([[a.maximum for a in actuators]] * 2)
    data = SimpleNamespace(time=np.arange(2.0), commanded=most, measured=most, stand_in=most)
    run = SimpleNamespace(description=description, actuators=actuators, actuation=data)
    drawn = {
        line.get_label(): (panel, line.get_ydata()[0])
        for panel in _actuation(run).figure.axes
        for line in panel.lines
        if len(line.get_ydata())
    }
    for a in actuators:
        panel, value = drawn[a.name]
        unit, size = SHOWN[a.unit]
        assert value == pytest.approx(a.maximum / size)
        assert panel.get_ylabel().endswith(f'[{unit}]')
        assert any(a.minimum / size in line.get_ydata() for line in panel.lines)
    unit, zero, size = _scale(actuators)
    assert unit.startswith('%')
    np.testing.assert_allclose((most - zero) / size, 100.0)


def test_backbones_of_chosen_moments_are_read(recorded):
    with BagReader(recorded.folder) as bag:
        run = RunData(bag, '/arm')
        shapes = run.shapes()
        chosen = np.array([200, 3, 200, 383])
        line = np.array([line for (line,) in run.backbones('configuration', chosen)])
        assert line.shape[::2] == (4, 3)
        np.testing.assert_allclose(line[:, -1], shapes.tip[chosen, :3], atol=1e-9)
        length = np.linalg.norm(np.diff(line, axis=1), axis=2).sum(axis=1)
        np.testing.assert_allclose(shapes.lengths[chosen], length, rtol=1e-12)


def test_figures_of_an_earlier_run_do_not_stay_among_the_new_ones(soro, tmp_path, monkeypatch):
    RecordedRun(tmp_path / 'run', 2)
    folder = tmp_path / 'figures'
    folder.mkdir()
    for name in (*(f'{figure}.png' for figure in FIGURES), PLAYER, 'mine.png'):
        (folder / name).write_text('old')
    # As of a recording without shapes and paths.
    monkeypatch.setattr(RunData, 'shapes', lambda run, topic='': None)
    monkeypatch.setattr(RunData, 'paths', lambda run: [])
    done = soro('plot', 'run', '-o', 'figures')
    assert done.returncode == 0, done.stderr
    left = {file.name for file in folder.iterdir()}
    assert left == {'actuation.png', 'timing.png', 'tip.png', 'mine.png'}
    assert (folder / 'mine.png').read_text() == 'old'
    assert (folder / 'tip.png').read_bytes()[1:4] == b'PNG'


@pytest.mark.parametrize(
    ('bag', 'robots', 'folder'),
    [
        ('bags/p0.5bar', ['/arm'], 'out/plots/p0.5bar'),
        ('bags/run.mcap', ['/arm'], 'out/plots/run.mcap'),
        ('bags/run.mcap/run_0.5.mcap', ['/arm'], 'out/plots/run_0.5'),
        ('bags/p0.5bar', ['/arm', '/lab/leg'], 'out/plots/p0.5bar/lab/leg'),
    ],
)
def test_no_two_recordings_share_a_folder(tmp_path, bag, robots, folder):
    for name in ('p0.5bar', 'run.mcap'):
        (tmp_path / 'bags' / name).mkdir(parents=True)
    reader = SimpleNamespace(path=tmp_path / bag, namespaces=robots)
    assert default_folder('plots', reader, robots[-1]) == Path(folder)


def test_a_cut_recording_is_still_drawn(recorded, soro, tmp_path):
    shutil.copytree(recorded.folder, tmp_path / 'cut.off')
    (file,) = (tmp_path / 'cut.off').glob('*.mcap')
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    done = soro('plot', 'cut.off', '--json')
    assert done.returncode == 0, done.stderr
    assert 'cut off' in done.stderr
    assert (tmp_path / 'out' / 'plots' / 'cut.off' / 'actuation.png').exists()


def test_distance_to_a_path_against_brute_force():
    random = np.random.default_rng(3)
    path, points = random.normal(size=(6, 3)), random.normal(size=(9, 3))
    path[3] = path[2]  # a segment without length
    share = np.linspace(0.0, 1.0, 4001)[:, None]
    dense = np.concatenate([a + share * (b - a) for a, b in zip(path, path[1:], strict=False)])
    brute = np.linalg.norm(points[:, None] - dense, axis=2).min(axis=1)
    np.testing.assert_allclose(distance_to_path(points, path), brute, atol=1e-3)


def test_identify_finds_the_plant_and_writes_its_file(recorded, soro, tmp_path):
    done = soro('identify', str(recorded.folder), '--write', 'new.yaml', '--json')
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert list(answer['parameters']) == ['linear', 'quadratic', 'actuator_offset']
    for found, truth in zip(answer['parameters'].values(), recorded.truth, strict=True):
        assert found['low'] < truth < found['high']
        assert found['high'] - found['low'] < 0.1
    assert answer['held_after']['position'] < 0.1 * answer['held_before']['position']
    assert Path(tmp_path / answer['picture']).stat().st_size > 10_000
    written = read_robot_file(tmp_path / 'new.yaml').structure['constant_curvature']
    old = recorded.robot.description.structure['constant_curvature']
    ratio = written.offset / old.offset
    assert ratio == pytest.approx(answer['parameters']['actuator_offset']['factor'], rel=1e-6)
    # Nothing but the numbers is different, the offset at each of three chambers: comments stay.
    before = Path(recorded.robot.description.file).read_text().splitlines()
    after = (tmp_path / 'new.yaml').read_text().splitlines()
    assert sum(a != b for a, b in zip(before, after, strict=True)) == 5


@pytest.mark.usefixtures('unpainted')
def test_identify_finds_offsets_of_a_recording_too(recorded, soro, tmp_path):
    # The recording has none: its intervals must hold zero, beside the numbers of the plant.
    done = soro('identify', str(recorded.folder), '--marker-offset', '--json')
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert list(answer['offsets']) == ['marker_x', 'marker_y', 'marker_z']
    for found in answer['offsets'].values():
        assert found['low'] < 0.0 < found['high'] and found['high'] - found['low'] < 1e-3
    for found, truth in zip(answer['parameters'].values(), recorded.truth, strict=True):
        assert found['low'] < truth < found['high']
    assert len(answer['correlation']) == 6
    done = soro('identify', str(recorded.folder), '--marker-offset', '--fix', 'quadratic')
    assert done.returncode == 0, done.stderr
    assert re.search(r'marker_z +-?[0-9.]+ mm +-?[0-9.]+ mm to [0-9.]+ mm', done.stdout)


@pytest.mark.usefixtures('unpainted')
def test_a_tracker_of_positions_alone_says_nothing_of_orientation(recorded, soro):
    done = soro('identify', str(recorded.folder), '--tip', 'tracker/position', '--json')
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer['gravity'] == [*MOUNTED]
    assert answer['oriented'] is False and answer['after']['orientation'] is None
    # A tip that was always upright would contradict every posture.
    for found, truth in zip(answer['parameters'].values(), recorded.truth, strict=True):
        assert found['low'] < truth < found['high']


@pytest.mark.usefixtures('unpainted')
def test_gravity_is_that_of_the_mounting_and_said(recorded, soro, monkeypatch):
    fitted, drawn = [], []

    def fit(*values, gravity, **options):
        fitted.append(gravity)
        return identify(*values, gravity=gravity, **options)

    def seen(robot, *values):
        drawn.append(robot.gravity)
        return predict(robot, *values)

    monkeypatch.setattr('soro_mechanics.identification.fit.identify', fit)
    monkeypatch.setattr('soro_recording.identify_report.predict', seen)
    done = soro('identify', str(recorded.folder), '--gravity', '-9.81m/s^2', '0', '0')
    assert done.returncode == 0, done.stderr
    assert 'gravity -9.81 0 0 m/s^2 (--gravity)' in done.stderr
    np.testing.assert_allclose(fitted, [[-9.81, 0.0, 0.0]])
    np.testing.assert_allclose(drawn, [[-9.81, 0.0, 0.0]] * 2)


@pytest.mark.usefixtures('unpainted')
def test_stiffness_of_a_run_is_that_of_its_mounting(recorded, soro, monkeypatch):
    solved = []

    def forward(robot, *values, **options):
        solved.append(robot.gravity)
        return Robot.forward(robot, *values, **options)

    monkeypatch.setattr(
        'soro_recording.run_figures.Robot', type('Watched', (Robot,), {'forward': forward})
    )
    assert soro('plot', str(recorded.folder)).returncode == 0
    np.testing.assert_array_equal(solved, [MOUNTED] * len(solved))
    assert solved


@pytest.mark.usefixtures('unpainted')
def test_a_bag_without_gravity_has_that_of_its_robot_file(recorded, soro, monkeypatch):
    def older(types, schema, data, decode=_Types.decode):
        message = decode(types, schema, data)
        known = {k: v for k, v in vars(message).items() if k != 'gravity'}
        return SimpleNamespace(**known)

    monkeypatch.setattr(_Types, 'decode', older)
    done = soro('identify', str(recorded.folder))
    assert done.returncode == 0, done.stderr
    assert 'gravity 0 0 -9.81 m/s^2 (robot file)' in done.stderr


@pytest.mark.usefixtures('unpainted')
def test_gravity_that_changed_has_to_be_named(recorded, soro, monkeypatch):
    def turned(types, schema, data, decode=_Types.decode):
        message = decode(types, schema, data)
        if schema.name.endswith('/Configuration') and message.header.stamp.nanosec < 5 * 10**8:
            message.gravity.z = -9.81
        return message

    monkeypatch.setattr(_Types, 'decode', turned)
    done = soro('identify', str(recorded.folder))
    assert done.returncode == 1
    assert 'gravity of the solver was changed during the recording' in done.stderr
    done = soro('identify', str(recorded.folder), '--gravity', '0', '0', '9.81m/s^2')
    assert done.returncode == 0, done.stderr


def test_identify_refuses_what_the_data_cannot_tell(recorded, soro, tmp_path):
    twice = [
        '--parameter',
        'a=body.segments.0.chambers.*.offset',
        '--parameter',
        'b=body.segments.0.chambers.*.offset',
    ]
    done = soro('identify', str(recorded.folder), *twice, '--write', 'n.yaml')
    assert done.returncode == 1
    assert 'the data cannot tell: a and b apart' in done.stderr
    done = soro(
        'identify', str(recorded.folder), '--parameter', 'k=body.segments.0.axial_stiffness'
    )
    assert done.returncode == 1
    assert 'the data cannot tell: k (without effect)' in done.stderr
    assert not (tmp_path / 'n.yaml').exists()


@pytest.mark.parametrize(
    ('words', 'said'),
    [
        (['--tip', 'tracker/pose'], 'holds no /arm/tracker/pose'),
        (['--tip', 'camera/pose'], "frame 'world', not in 'arm/base_link': transform"),
        (['--gravity', '0', '0', '9.81'], "--gravity z = '9.81'"),
        (['--hold-out', '30'], '--hold-out 30: a share between 0 and 1'),
        (['--hold-out', '0.99'], 'hold_out = 0.99: expected less: 0 of 24 postures are left'),
        (['--fix', 'stiffness'], 'there are: linear, quadratic'),
        (['--parameter', 'x'], 'name=path'),
        (['--sensor-offset', 'pump'], 'actuator_1'),
        (['--offsets-only'], '--sensor-offset or --marker-offset'),
        (['--offsets-only', '--marker-offset', '--write', 'x.yaml'], 'leaves the robot file'),
        (['--parameter', 'x=body.segments.0.nothing'], 'leads to no number'),
    ],
)
def test_identify_says_what_is_wrong(recorded, soro, tmp_path, words, said):
    done = soro('identify', str(recorded.folder), *words)
    assert done.returncode == 1
    assert said in done.stderr
    assert len(done.stderr.splitlines()) <= 2


def test_an_output_that_cannot_be_written_does_not_blame_the_recording(
    recorded, soro, tmp_path, monkeypatch
):
    (tmp_path / 'file').write_text('in the way')
    done = soro('plot', str(recorded.folder), '-o', 'file/figures')
    assert done.returncode == 1
    assert done.stderr == 'soro: file/figures cannot be written: Not a directory\n'
    words = ['identify', str(recorded.folder), '--fix', 'linear', '--fix', 'quadratic']
    done = soro(*words, '--write', 'missing/x.yaml')
    assert done.returncode == 1
    assert 'soro: missing/x.yaml cannot be written: No such file or directory' in done.stderr

    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Figure, 'savefig', full)
    with pytest.raises(UserError, match=r'tip\.png cannot be written: No space left'):
        Drawn('tip', Figure(), {}).save(tmp_path)
    with pytest.raises(UserError, match=r'x\.png cannot be written: No space left'):
        save_figure(Figure(), tmp_path / 'x.png')


def test_only_what_fails_while_a_bag_is_read_is_said_of_the_bag(recorded, monkeypatch):
    with pytest.raises(OSError, match='something else'), open_bag(recorded.folder):
        raise OSError('something else')

    def broken(*_):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr('soro_recording.bag_reader.messages', broken)
    with pytest.raises(UserError, match='run cannot be read: Input/output'):
        with open_bag(recorded.folder) as bag:
            next(iter(bag.messages()))


def test_the_example_of_the_documentation_runs(recorded, capsys):
    page = (Path(__file__).resolve().parents[3] / 'docs' / 'recording.md').read_text()
    (example,) = re.findall(r'```python\n(.*?)```', page, re.DOTALL)
    example = re.sub(r"BagReader\('[^']*'\)", f'BagReader({str(recorded.folder)!r})', example)
    exec(example.replace('/stiff_flop/', '/arm/'))  # noqa: S102 - the page is ours
    lines = capsys.readouterr().out.splitlines()
    namespaces, duration, closed = lines[0].split()
    assert (namespaces, closed) == ("['/arm']", 'True')
    assert float(duration) == pytest.approx((24 * HOLD - 1) * PERIOD * 1e-9)
    assert len(lines) == 1 + 24 * HOLD
