# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Models that are not compiled yet: refused while a process compiles them, then served."""

import os
from pathlib import Path
import shutil
import subprocess
import sys
import threading
import time

import pytest

from soro_mechanics import load_robot
from soro_mechanics.core.errors import SoroError
from soro_mechanics.core.status import Code
from soro_mechanics.numerics import vector_kernels
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_node.process import background_compilation
from soro_node.process.background_compilation import BackgroundCompilation
from soro_node.process.warm_up import is_compiled, mark_of, warm_up
from soro_node.robot_binding import RobotBinding
from soro_rigs.ros_session import Place, wait_until

FILE = str(find_robot_file('spatial_cc'))
VALUES = {'robot': 'stiff_flop', 'model': 'lpcc', 'frame_prefix': '', 'gravity': []}


class Compiler:
    """A process that compiles until it is told to end."""

    started = []

    def __init__(self, command, pass_fds, **settings):
        self.command, self.code = command, None
        self.open = [os.dup(number) for number in pass_fds]  # as a process has them
        self.waited_for = threading.Event()
        self.started.append(self)

    def wait(self):
        self.waited_for.set()

    def poll(self):
        return self.code

    def end(self, code):
        """End, which closes files."""
        self.code = code
        while self.open:
            os.close(self.open.pop())


@pytest.fixture
def compiled(monkeypatch, tmp_path):
    """Return the models that count as compiled, and let nothing be compiled here."""
    monkeypatch.setenv('NUMBA_CACHE_DIR', str(tmp_path))
    models, warmed = set(), []
    Compiler.started = []
    for place in ('soro_node.process.background_compilation', 'soro_node.robot_binding'):
        monkeypatch.setattr(f'{place}.is_compiled', lambda file, model: model in models)
        monkeypatch.setattr(f'{place}.warm_up', lambda robot: warmed.append(robot.model) or 0.0)
    monkeypatch.setattr(background_compilation.subprocess, 'Popen', Compiler)
    yield models, warmed
    for process in Compiler.started:
        process.end(0)


def test_the_nodes_model_is_ready_and_the_others_follow(compiled):
    models, warmed = compiled
    models.add('lcm')
    binding = RobotBinding(Place(), VALUES)
    binding.prepare()
    assert warmed == ['lpcc']  # a node loads for what it is asked for
    (process,) = Compiler.started
    assert process.command[-3:] == ['ncm', 'network', 'npcc']
    assert process.waited_for.wait(5.0)  # its end leaves nothing in the table of processes
    for name in ('', 'lpcc', 'lcm'):
        assert binding.robot_with(name).model == (name or 'lpcc')
    with pytest.raises(SoroError, match='are being compiled, once, for 0 s') as info:
        binding.robot_with('ncm')
    assert info.value.code is Code.BUSY
    with pytest.raises(SoroError):  # as a parameter too
        binding.check({**VALUES, 'model': 'ncm'})
    models.add('ncm')
    assert binding.robot_with('ncm').model == 'ncm' and warmed[-1] == 'ncm'
    count = len(warmed)
    binding.robot_with('ncm')
    assert len(warmed) == count  # loaded once
    binding.apply({**VALUES, 'model': 'ncm'})
    binding.prepare()
    assert len(Compiler.started) == 1


def test_what_a_process_left_undone_is_compiled_when_it_is_asked_for(compiled):
    _, warmed = compiled
    binding = RobotBinding(Place(), VALUES)
    binding.prepare()
    Compiler.started[0].end(-9)
    assert binding.robot_with('network').model == 'network' and warmed[-1] == 'network'


def test_of_the_nodes_of_a_robot_one_has_the_process(compiled):
    models, warmed = compiled
    first, second, other = bindings = [
        RobotBinding(Place(), {**VALUES, 'robot': robot, 'model': ''})
        for robot in ('stiff_flop', 'stiff_flop', 'spatial_cc')
    ]
    for binding in bindings:
        binding.prepare()
    files = [process.command[4] for process in Compiler.started]
    assert [Path(file).stem for file in files] == ['stiff_flop', 'spatial_cc']
    with pytest.raises(SoroError):
        second.robot_with('npcc')
    assert len(Compiler.started) == 2
    models.add('npcc')  # by the first one's
    assert second.robot_with('npcc').model == 'npcc'
    Compiler.started[0].end(-15)  # with its node; what is left is done by whom it is asked of
    with pytest.raises(SoroError):
        second.robot_with('lcm')
    assert Compiler.started[2].command[5:] == ['lcm', 'lpcc', 'network']
    assert first.robot_with('lcm').model == 'lcm'


def test_without_a_place_for_locks_every_node_compiles(compiled, monkeypatch):
    monkeypatch.setattr(background_compilation, 'open_lock', lambda name: None)
    for _ in range(2):
        RobotBinding(Place(), VALUES).prepare()
    assert len(Compiler.started) == 2


@pytest.mark.timeout(600)  # kernels are compiled, at the least priority
def test_a_real_process_compiles_and_ends(tmp_path, monkeypatch):
    robot = load_robot(FILE)
    warm_up(robot)
    for file in Path(os.environ['NUMBA_CACHE_DIR']).glob('*/*.nb?'):
        if not file.name.startswith('kernels.arc_jacobian-'):  # the others take longer, no more
            (tmp_path / file.parent.name).mkdir(exist_ok=True)
            shutil.copy(file, tmp_path / file.parent.name)
    monkeypatch.setenv('NUMBA_CACHE_DIR', str(tmp_path))
    first, second = (BackgroundCompilation(FILE, ['constant_curvature']) for _ in range(2))
    assert second._process is None
    with pytest.raises(SoroError):
        second.require(robot)
    assert wait_until(lambda: first._process.poll() is not None, 500.0)
    assert first._process.returncode == 0
    assert is_compiled(FILE, robot.model) and list(tmp_path.glob('*/kernels.arc_jacobian-*.nbc'))
    second.require(robot)
    assert second._process is None


def test_the_process_ends_with_its_node(tmp_path):
    code = (
        'import sys\n'
        'from soro_node.process.background_compilation import BackgroundCompilation\n'
        'compilation = BackgroundCompilation(sys.argv[1], ["network"])\n'
        'print(compilation._process.pid, flush=True)\n'
        'sys.stdin.read()\n'
    )
    environment = {**os.environ, 'NUMBA_CACHE_DIR': str(tmp_path)}
    node = subprocess.Popen(
        [sys.executable, '-c', code, FILE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
    )
    number = int(node.stdout.readline())
    node.kill()
    node.communicate(timeout=10.0)
    assert wait_until(lambda: has_ended(number))


def has_ended(number):
    """Return whether a process has ended, whoever has to collect it."""
    try:
        text = Path('/proc', str(number), 'stat').read_text()
    except OSError:
        return True
    return text.rpartition(')')[2].split()[0] == 'Z'


def test_kernels_of_sources_that_have_changed_are_not_compiled(tmp_path, monkeypatch):
    monkeypatch.setenv('NUMBA_CACHE_DIR', str(tmp_path))
    assert not is_compiled(FILE, 'other')
    mark = mark_of(FILE, 'other')
    mark.parent.mkdir(parents=True, exist_ok=True)
    mark.touch()
    assert is_compiled(FILE, 'other')
    source = Path(vector_kernels.__file__).stat().st_mtime
    os.utime(mark, (source - 1.0, source - 1.0))
    assert not is_compiled(FILE, 'other')


def test_kernels_of_sources_that_seem_to_be_of_tomorrow_are_compiled_once(tmp_path, monkeypatch):
    """As on a computer whose clock was set back, or whose sources came from one that is ahead."""
    monkeypatch.setenv('NUMBA_CACHE_DIR', str(tmp_path))
    tomorrow = time.time_ns() + 86400 * 10**9
    monkeypatch.setattr('soro_node.process.warm_up._changed', lambda: tomorrow)
    robot = load_robot('spatial_cc')
    mark = mark_of(FILE, robot.model)
    mark.parent.mkdir(parents=True, exist_ok=True)
    mark.touch()
    assert not is_compiled(FILE, robot.model)
    warm_up(robot)
    assert is_compiled(FILE, robot.model)


def test_nothing_to_do_starts_nothing():
    assert BackgroundCompilation('stiff_flop', [])._process is None
