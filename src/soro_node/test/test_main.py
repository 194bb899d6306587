# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The one main, in processes of their own: signals, exit codes, nothing on stderr."""

import os
import signal
import subprocess
import sys

from busy_work import busy
import pytest

from soro_rigs.domains import own_domain

LAUNCHER_PATIENCE = 5.0  # s, then a launcher sends SIGTERM

PROGRAM = """
import sys, threading
from busy_work import busy, callback, cores_of_threads, keep_interpreter
from busy_work import LONGER, niceness_of_threads, Slow
from soro_node.lifecycle import autostart_parameter, GuardedLifecycleNode
from soro_node.main import run
from soro_node.parameters import Parameter, ParameterTable
from soro_mechanics.core.errors import InvalidInput

TABLE = (autostart_parameter(), Parameter('mode', '', '', 'what to do'))
say = lambda text: print(text, flush=True)

class Probe(GuardedLifecycleNode):
    def __init__(self):
        super().__init__('probe')
        self.table = ParameterTable(self, TABLE)
        self.exit_when_autostart_fails = self.table.mode != 'patient'
        self.stuck = self.table.mode == 'stuck'
        self.counts = self.table.mode == 'count'
        self.exit_code = 3 if self.table.mode == 'unsafe' else 0
    def configure(self):
        mode = self.table.mode
        if mode in ('refuse', 'patient'):
            raise InvalidInput('robot', 'x', 'another')
        if mode == 'break':
            raise ZeroDivisionError
        if mode == 'slow':
            say('starting')
            threading.Event().wait(30.0)
        if mode == 'compile':
            threading.Timer(0.1, say, ['starting']).start()  # once it computes
            busy['kernel']()
        if mode == 'callback':
            callback(lambda: say('starting'))
        if mode == 'talk':
            say('starting')
            threading.Event().wait(LONGER)
            say('talked')
    def activate(self):
        if self.table.mode == 'heavy':
            sys.modules['__main__'].kernels = Slow()
        if self.table.mode == 'show':
            say(niceness_of_threads())
            self.spins = self.create_timer(0.01, self.show)
        say('ready')
        if self.table.mode in busy:
            self.create_timer(0.01, self.work)
        if self.table.mode == 'crash':
            self.create_timer(0.01, lambda: 1 / 0)
    def work(self):
        say('works')
        busy[self.table.mode]()
    def show(self):
        self.spins.cancel()
        say(niceness_of_threads())
    def stop_outputs(self):
        say('safe begin')
        if self.table.mode == 'slow_safe':
            threading.Event().wait(LONGER)
        assert self.context.ok()
        say('safe end')
    def destroy_node(self):
        if getattr(self, 'stuck', False):
            keep_interpreter()
        if getattr(self, 'counts', False):
            say(cores_of_threads())
        super().destroy_node()

sys.exit(run(Probe, driver='driver' in sys.argv, then=7 if 'shows' in sys.argv else 0))
"""

SAFE = ['safe begin', 'safe end']


class Process:
    """The program as a child, and what it wrote."""

    def __init__(self, *arguments):
        self.child = subprocess.Popen(
            [sys.executable, '-c', PROGRAM, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
        )

    def read_until(self, word):
        for line in self.child.stdout:
            if line.strip() == word:
                return
        raise AssertionError(f'{word!r} never came: {self.child.stderr.read()}')

    def finish(self, timeout=30.0):
        out, err = self.child.communicate(timeout=timeout)
        return self.child.returncode, out.split('\n')[:-1], err


def environment():
    """Return the variables of a program: it finds this file."""
    path = os.pathsep.join([os.path.dirname(__file__), os.environ.get('PYTHONPATH', '')])
    return {**os.environ, 'ROS_DOMAIN_ID': str(own_domain()), 'PYTHONPATH': path}


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


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize('kind', [(), ('driver',)], ids=['node', 'driver'])
def test_a_signal_ends_it_cleanly(start, number, kind):
    process = start(*kind)
    process.read_until('ready')
    process.child.send_signal(number)
    assert process.finish() == (0, SAFE, '')


@pytest.mark.parametrize('kind', [(), ('driver',)], ids=['node', 'driver'])
def test_neither_time_nor_signals_cut_the_safe_action_short(start, kind):
    process = start(*kind, *mode('slow_safe'))
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


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize('work', busy)
def test_a_node_that_computes_is_made_safe_and_ends(start, work, number):
    process = start(*mode(work))
    process.read_until('works')
    process.child.send_signal(number)
    code, out, err = process.finish(LAUNCHER_PATIENCE)
    assert (code, [word for word in out if word != 'works'], err) == (0, SAFE, '')


def test_a_start_that_compiles_can_be_interrupted(start):
    process = start(*mode('compile'))
    process.read_until('starting')
    process.child.send_signal(signal.SIGINT)
    assert process.finish(LAUNCHER_PATIENCE) == (0, SAFE, '')


def test_a_signal_within_a_callback_from_c_leaves_no_traceback(start):
    process = start(*mode('callback'))
    process.read_until('starting')
    process.child.send_signal(signal.SIGINT)
    code, out, err = process.finish()
    assert (code, err) == (0, '') and 'ready' not in out


def test_the_talk_of_a_driver_with_its_device_is_not_cut_short(start):
    process = start('driver', *mode('talk'))
    process.read_until('starting')
    process.child.send_signal(signal.SIGINT)
    assert process.finish() == (0, ['talked', 'ready', *SAFE], '')  # drivers ask `ending` first


@pytest.mark.parametrize('kind', [(), ('driver',)], ids=['node', 'driver'])
def test_what_stands_still_with_the_interpreter_is_ended_once_it_is_safe(start, kind):
    process = start(*kind, *mode('stuck'))
    process.read_until('ready')
    process.child.send_signal(signal.SIGINT)
    code, out, err = process.finish(LAUNCHER_PATIENCE)
    assert (code, out) == (1, SAFE)
    assert 'in keep_interpreter' in err


def test_threads_share_a_core_while_the_middleware_is_taken_down(start):
    """Else a node that leaves together with others may never come to an end."""
    process = start(*mode('count'))
    process.read_until('ready')
    process.child.send_signal(signal.SIGINT)
    assert process.finish() == (0, [*SAFE, '1'], '')


def test_a_crash_in_compiled_code_says_where(start):
    process = start()
    process.read_until('ready')
    process.child.send_signal(signal.SIGSEGV)
    code, _, err = process.finish()
    assert code == -signal.SIGSEGV
    assert 'Fatal Python error: Segmentation fault' in err and 'in _run_node' in err


def test_a_node_whose_stderr_is_closed_starts_and_ends():
    words = ['sh', '-c', 'exec "$0" -c "$1" 2>&-', sys.executable, PROGRAM]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment()) as child:
        assert child.stdout.readline() == 'ready\n'
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate(timeout=30.0)
    assert (child.returncode, out.splitlines()) == (0, SAFE)


def test_a_node_that_cannot_write_log_files_starts_and_says_so(start, tmp_path, monkeypatch):
    """A full disk, a home that is read only: a driver has to work, and to be stopped."""
    (tmp_path / 'file').touch()
    monkeypatch.setenv('ROS_LOG_DIR', str(tmp_path / 'file/log'))
    process = start('driver')
    process.read_until('ready')
    process.child.send_signal(signal.SIGINT)
    code, out, err = process.finish()
    assert (code, out) == (0, SAFE)
    assert err.startswith(f'no log files: {tmp_path}/file/log: ') and err.count('\n') == 1


def test_what_only_shows_stands_back_once_it_has_started(start):
    process = start('shows', *mode('show'))
    process.read_until(str([os.nice(0)]))
    process.read_until('[7]')
    process.child.send_signal(signal.SIGINT)
    assert process.finish() == (0, SAFE, '')


def test_what_the_interpreter_takes_apart_at_its_end_is_not_waited_for(start):
    process = start(*mode('heavy'))
    process.read_until('ready')
    process.child.send_signal(signal.SIGINT)
    assert process.finish(LAUNCHER_PATIENCE) == (0, SAFE, '')


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


@pytest.mark.parametrize('driver', [[], ['driver']])
def test_a_node_says_by_its_exit_code_that_it_could_not_be_made_safe(start, driver):
    process = start(*driver, *mode('unsafe'))
    process.read_until('ready')
    process.child.send_signal(signal.SIGINT)
    assert process.finish() == (3, SAFE, '')


def test_a_driver_ends_with_its_parent(start):
    """The parent is killed; the driver still makes its outputs safe."""
    read, write = os.pipe()
    launcher = (
        'import subprocess, sys\n'
        f'child = subprocess.Popen([sys.executable, "-c", sys.argv[1], "driver"], stdout={write},'
        f' pass_fds=({write},))\n'
        'child.wait()'
    )
    parent = subprocess.Popen(
        [sys.executable, '-c', launcher, PROGRAM], pass_fds=(write,), env=environment()
    )
    os.close(write)
    with os.fdopen(read) as out:
        assert out.readline() == 'ready\n'
        parent.kill()
        parent.wait(10.0)
        assert out.read() == 'safe begin\nsafe end\n'  # to its end: the pipe is closed
