# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The one main, in processes of their own: signals, exit codes, nothing on stderr."""

import os
import signal
import subprocess
import sys

import pytest
from soro_node.testing import own_domain

PROGRAM = """
import sys, threading
from soro_node.lifecycle import autostart_parameter, GuardedLifecycleNode
from soro_node.main import run
from soro_node.parameters import Parameter, ParameterTable
from soro_mechanics.errors import InvalidInput

TABLE = (autostart_parameter(), Parameter('mode', '', '', 'what to do'))
say = lambda text: print(text, flush=True)

class Probe(GuardedLifecycleNode):
    def __init__(self):
        super().__init__('probe')
        self.table = ParameterTable(self, TABLE)
        self.exit_when_autostart_fails = self.table.mode != 'patient'
    def configure(self):
        mode = self.table.mode
        if mode in ('refuse', 'patient'):
            raise InvalidInput('robot', 'x', 'another')
        if mode == 'break':
            raise ZeroDivisionError
        if mode == 'slow':
            say('starting')
            threading.Event().wait(30.0)
    def activate(self):
        say('ready')
        if self.table.mode == 'crash':
            self.create_timer(0.01, lambda: 1 / 0)
    def stop_outputs(self):
        say('safe begin')
        if self.table.mode == 'slow_safe':
            threading.Event().wait(0.5)
        assert self.context.ok()
        say('safe end')

sys.exit(run(Probe, driver='driver' in sys.argv))
"""


class Process:
    """The program as a child, and what it wrote."""

    def __init__(self, *arguments):
        environment = {**os.environ, 'ROS_DOMAIN_ID': str(own_domain())}
        self.child = subprocess.Popen(
            [sys.executable, '-c', PROGRAM, *arguments], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env=environment,
        )  # fmt: skip

    def read_until(self, word):
        for line in self.child.stdout:
            if line.strip() == word:
                return
        raise AssertionError(f'{word!r} never came: {self.child.stderr.read()}')

    def finish(self):
        out, err = self.child.communicate(timeout=30.0)
        return self.child.returncode, out.split('\n')[:-1], err


@pytest.fixture
def start():
    running = []

    def launch(*arguments):
        running.append(Process(*arguments))
        return running[-1]

    yield launch
    for process in running:
        process.child.kill()
        process.child.communicate(timeout=10.0)


def mode(name):
    return ('--ros-args', '-p', f'mode:={name}')


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize('kind', [(), ('driver',)], ids=['node', 'driver'])
def test_a_signal_ends_it_cleanly(start, number, kind):
    process = start(*kind)
    process.read_until('ready')
    process.child.send_signal(number)
    assert process.finish() == (0, ['safe begin', 'safe end'], '')


def test_further_signals_do_not_cut_the_safe_action_short(start):
    process = start('driver', *mode('slow_safe'))
    process.read_until('ready')
    process.child.send_signal(signal.SIGINT)
    process.read_until('safe begin')
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGINT):
        process.child.send_signal(number)
    assert process.finish() == (0, ['safe end'], '')


def test_a_long_start_can_be_interrupted(start):
    process = start(*mode('slow'))
    process.read_until('starting')
    process.child.send_signal(signal.SIGINT)
    code, out, err = process.finish()
    assert (code, err) == (0, '')
    assert 'ready' not in out


def test_a_refused_start_is_exit_code_one_and_one_line(start):
    code, out, err = start(*mode('refuse')).finish()
    assert code == 1
    assert "robot = 'x': expected another" in err
    assert 'Traceback' not in err


def test_a_patient_node_stays_and_says_why(start):
    process = start(*mode('patient'))
    assert "robot = 'x'" in process.child.stderr.readline()
    process.child.send_signal(signal.SIGTERM)
    assert process.finish()[0] == 0


def test_a_wrong_parameter_is_exit_code_one_and_one_line(start):
    code, out, err = start('--ros-args', '-p', 'autostart:=maybe').finish()
    assert code == 1
    assert err.strip() == "error: autostart = 'maybe': expected a value of type bool"


@pytest.mark.parametrize('name', ['break', 'crash'])
def test_a_fault_is_exit_code_one_with_its_traceback_and_safe_outputs(start, name):
    code, out, err = start(*mode(name)).finish()
    assert code == 1
    assert 'ZeroDivisionError' in err
    assert out[-1] == 'safe end'


def test_a_driver_ends_with_its_parent(start):
    """The parent is killed; the driver still makes its outputs safe."""
    read, write = os.pipe()
    launcher = (
        'import subprocess, sys\n'
        f'child = subprocess.Popen([sys.executable, "-c", sys.argv[1], "driver"], stdout={write},'
        f' pass_fds=({write},))\n'
        'child.wait()'
    )
    environment = {**os.environ, 'ROS_DOMAIN_ID': str(own_domain())}
    parent = subprocess.Popen(
        [sys.executable, '-c', launcher, PROGRAM], pass_fds=(write,), env=environment
    )
    os.close(write)
    with os.fdopen(read) as out:
        assert out.readline() == 'ready\n'
        parent.kill()
        parent.wait(10.0)
        assert out.read() == 'safe begin\nsafe end\n'  # to its end: the pipe is closed
