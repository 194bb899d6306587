# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Models that are not compiled yet: refused while a process compiles them, then served."""

import pytest
from soro_mechanics.status import Code
from soro_node.background_compilation import BackgroundCompilation, ModelCompiling
from soro_node.robot_binding import RobotBinding
from soro_node.testing import wait_until

from soro_node import background_compilation

VALUES = {'robot': 'stiff_flop', 'model': 'lpcc', 'frame_prefix': '', 'gravity': []}


class Place:
    """What the binding asks of a node."""

    def get_namespace(self):
        return '/arm'


class Compiler:
    """A process that compiles until it is told to end."""

    started = []

    def __init__(self, command, **settings):
        self.command, self.code = command, None
        self.started.append(self)

    def poll(self):
        return self.code


@pytest.fixture
def compiled(monkeypatch):
    """Return the models that count as compiled, and let nothing be compiled here."""
    models, warmed = set(), []
    Compiler.started = []
    for module in ('background_compilation', 'robot_binding'):
        place = f'soro_node.{module}'
        monkeypatch.setattr(f'{place}.is_compiled', lambda robot: robot.model in models)
        monkeypatch.setattr(f'{place}.warm_up', lambda robot: warmed.append(robot.model) or 0.0)
    monkeypatch.setattr(background_compilation.subprocess, 'Popen', Compiler)
    return models, warmed


def test_the_nodes_model_is_ready_and_the_others_follow(compiled):
    models, warmed = compiled
    models.add('lcm')
    binding = RobotBinding(Place(), VALUES)
    binding.prepare()
    assert warmed == ['lpcc', 'lcm']
    (process,) = Compiler.started
    assert process.command[-3:] == ['ncm', 'network', 'npcc']
    for name in ('', 'lpcc', 'lcm'):
        assert binding.robot_with(name).model == (name or 'lpcc')
    with pytest.raises(ModelCompiling, match='are being compiled, once, for 0 s') as info:
        binding.robot_with('ncm')
    assert info.value.code is Code.BUSY
    with pytest.raises(ModelCompiling):  # as a parameter too
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
    Compiler.started[0].code = -9
    assert binding.robot_with('network').model == 'network' and warmed[-1] == 'network'


def test_a_real_process_compiles_and_ends(tmp_path, monkeypatch):
    monkeypatch.setenv('NUMBA_CACHE_DIR', str(tmp_path))
    compilation = BackgroundCompilation('spatial_cc', ['constant_curvature'])
    wait_until(lambda: compilation._process.poll() is not None, 120.0)
    assert compilation._process.returncode == 0
    assert list(tmp_path.glob('warm-*'))


def test_nothing_to_do_starts_nothing():
    assert BackgroundCompilation('stiff_flop', [])._process is None
