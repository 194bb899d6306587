# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Real processes started, signalled and reaped by a runner in a process of its own."""

from __future__ import annotations

from contextlib import contextmanager
import io
import os
from pathlib import Path
import queue
import selectors
import signal
import subprocess
import sys
import tempfile
import threading

from launch_rig import LaunchRig
import pytest

from soro_launch import run
from soro_launch.errors import LaunchError
from soro_launch.output import LaunchOutput
from soro_launch.supervision import MAX_LINE, Supervisor

RUN = """
import sys
from pathlib import Path
from soro_launch.run import run_launch_file
sys.exit(run_launch_file(Path(sys.argv[1]), {}, dict(__import__('os').environ)))
"""
LIMIT = 15.0  # s, far above what any of these needs
OBEDIENT = 'trap "echo got INT; exit 0" INT\necho ready\nwhile :; do sleep 0.05; done'
STUBBORN = 'trap "echo got INT" INT\ntrap "echo got TERM; exit 5" TERM\necho ready\n' + (
    'while :; do sleep 0.05; done'
)
DEAF = 'trap "" INT TERM\necho ready\nfor i in $(seq 600); do sleep 0.05; done'


class Launched:
    """A runner in a subprocess and what it has printed."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.lines: list[str] = []
        self._queue: queue.Queue[str | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self.process.stdout:
            self._queue.put(line.rstrip('\n'))
        self._queue.put(None)

    def wait_for(self, text: str, count: int = 1) -> None:
        """Read until a text has been printed `count` times."""
        while sum(text in line for line in self.lines) < count:
            line = self._queue.get(timeout=LIMIT)
            assert line is not None, f'{text!r} did not come before the end: {self.lines}'
            self.lines.append(line)

    def finish(self) -> int:
        """Read to the end and return the exit code."""
        while (line := self._queue.get(timeout=LIMIT)) is not None:
            self.lines.append(line)
        return self.process.wait(LIMIT)


@contextmanager
def launched(rig: LaunchRig, body: str):
    file = rig.file(body)
    environment = {
        **os.environ,
        **rig.environment,
        'ROS_LOG_DIR': str(rig.folder / 'log'),
        'PYTHONPATH': os.pathsep.join(sys.path),
    }
    process = subprocess.Popen(
        [sys.executable, '-c', RUN, str(file)],
        env=environment,
        text=True,
        bufsize=1,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        yield Launched(process)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


def node(name: str, more: str = '') -> str:
    return f'<node pkg="pkg" exec="{name}" name="{name}" output="screen" {more}/>'


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f'/proc/{pid}/stat').read_text().split()[2] != 'Z'


@pytest.fixture
def rig(tmp_path):
    made = LaunchRig(tmp_path)
    for name, script in (('obedient', OBEDIENT), ('stubborn', STUBBORN), ('deaf', DEAF)):
        made.add(name, script)
    return made


def test_output_carries_names_and_the_exit_code_is_the_worst(rig):
    rig.add('three', 'echo out; echo err >&2; printf unfinished; exit 3')
    rig.add('two', 'exit 2')
    with launched(rig, node('three') + node('two') + node('run')) as run:
        assert run.finish() == 3
    for line in (
        '[three] out',
        '[three] err',
        '[three] unfinished',
        '[launch] [two] ended with 2',
    ):
        assert line in run.lines


def test_log_output_stays_off_the_screen(rig):
    rig.add('quiet', 'echo out; echo err >&2')
    with launched(rig, '<node pkg="pkg" exec="quiet"/>') as run:
        assert run.finish() == 0
    assert '[quiet] err' in run.lines
    assert '[quiet] out' not in run.lines
    log = next((rig.folder / 'log').rglob('launch.log')).read_text()
    assert '[quiet] out' in log


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_everything_in_order(rig, number):
    with launched(rig, node('obedient')) as run:
        run.wait_for('[obedient] ready')
        run.process.send_signal(number)
        assert run.finish() == 0
    assert run.lines.count('[obedient] got INT') == 1


def test_a_second_interrupt_reaches_nobody(rig):
    rig.add(
        'slow',
        'trap "echo got INT" INT\ntrap "exit 0" TERM\necho ready\n'
        + ('while :; do sleep 0.05; done'),
    )
    with launched(rig, node('slow', 'sigterm_timeout="1.0"')) as run:
        run.wait_for('[slow] ready')
        run.process.send_signal(signal.SIGINT)
        run.wait_for('[slow] got INT')
        for _ in range(3):
            # As a terminal does: to the whole process group of the launcher.
            os.killpg(run.process.pid, signal.SIGINT)
        assert run.finish() == 0
    assert run.lines.count('[slow] got INT') == 1


def test_escalates_to_sigterm_and_reports_the_code(rig):
    with launched(rig, node('stubborn', 'sigterm_timeout="0.3"')) as run:
        run.wait_for('[stubborn] ready')
        run.process.send_signal(signal.SIGINT)
        assert run.finish() == 5
    assert '[stubborn] got INT' in run.lines
    assert '[stubborn] got TERM' in run.lines


def test_escalates_to_sigkill_and_reaps(rig):
    more = 'sigterm_timeout="0.2" sigkill_timeout="0.2"'
    with launched(rig, node('deaf', more) + node('obedient')) as run:
        run.wait_for('ready', 2)
        pid = int(next(x for x in run.lines if 'deaf] started' in x).rsplit(' ', 1)[1])
        run.process.send_signal(signal.SIGINT)
        assert run.finish() == 128 + signal.SIGKILL
    assert not is_alive(pid)


def test_killed_children_are_reaped_while_others_run(rig):
    with launched(rig, node('deaf') + node('obedient')) as run:
        run.wait_for('ready', 2)
        pid = int(next(x for x in run.lines if 'deaf] started' in x).rsplit(' ', 1)[1])
        os.kill(pid, signal.SIGKILL)
        run.wait_for('[deaf] was ended by SIGKILL')
        assert not is_alive(pid)
        run.process.send_signal(signal.SIGINT)
        assert run.finish() == 128 + signal.SIGKILL


def test_on_exit_shutdown_stops_the_rest(rig):
    rig.add('ends', 'sleep 0.3; exit 4')
    with launched(rig, node('obedient') + node('ends', 'on_exit="shutdown"')) as run:
        assert run.finish() == 4
    assert '[launch] stopping: ends has ended' in run.lines


def test_respawn_stops_at_its_limit(rig):
    rig.add('dies', 'echo once; exit 1')
    more = 'respawn="true" respawn_max_retries="2" respawn_delay="0.05"'
    with launched(rig, node('dies', more)) as run:
        assert run.finish() == 1
    assert run.lines.count('[dies] once') == 3


def test_a_stop_ends_waiting_for_a_respawn(rig):
    more = 'respawn="true" respawn_delay="60"'
    with launched(rig, node('run', more)) as run:
        run.wait_for('[run] ended with 0')
        run.process.send_signal(signal.SIGINT)
        assert run.finish() == 0


def test_processes_end_with_a_killed_launcher(rig):
    with launched(rig, node('obedient')) as run:
        run.wait_for('[obedient] ready')
        pid = int(next(x for x in run.lines if 'obedient] started' in x).rsplit(' ', 1)[1])
        watch = os.pidfd_open(pid)
        run.process.kill()
        selector = selectors.DefaultSelector()
        selector.register(watch, selectors.EVENT_READ)
        assert selector.select(LIMIT), 'the process outlived its launcher'
        os.close(watch)


def test_a_grandchild_that_holds_the_pipe_does_not_hold_the_launch(rig):
    rig.add('parent', 'sleep 30 &\nexit 0')
    with launched(rig, node('parent')) as run:
        assert run.process.wait(LIMIT) == 0


def test_a_grandchild_that_writes_on_does_not_hold_the_launch(rig):
    rig.add('parent', 'yes &\nexit 0')
    quiet = '<node pkg="pkg" exec="parent" name="parent"/>'
    with launched(rig, node('obedient') + quiet) as run:
        run.wait_for('[parent] ended with 0')
        run.process.send_signal(signal.SIGINT)
        assert run.finish() == 0
        assert any('got INT' in line for line in run.lines)


def test_a_line_without_an_end_is_shown_in_pieces(rig):
    rig.add('flood', "head -c 1000000 /dev/zero | tr '\\0' x")
    shown: list[str] = []
    plans = rig.plan(node('flood')).processes
    assert (
        Supervisor(plans, lambda name, text, _: shown.append(text), lambda text: None).run() == 0
    )
    assert sum(map(len, shown)) == 10**6
    assert max(map(len, shown)) <= 3 * MAX_LINE


def test_what_cannot_be_started_is_reported(rig):
    (rig.folder / 'lib' / 'pkg' / 'broken').write_text('#!/nowhere/sh\n')
    (rig.folder / 'lib' / 'pkg' / 'broken').chmod(0o755)
    with launched(rig, node('broken')) as run:
        assert run.finish() == 127
    assert any('[broken] cannot be started' in line for line in run.lines)


# Needs some time after SIGINT and writes while it ends, as a robot does that vents.
VENTING = 'trap "sleep 0.3; echo venting; echo INT >> $0.seen; exit 0" INT\necho ready\n' + (
    'while :; do sleep 0.05; done'
)


@pytest.fixture
def venting(rig):
    """Two processes that vent, and what each has noted of its signals."""
    for name in ('left', 'right'):
        rig.add(name, VENTING)
    folder = rig.folder / 'lib' / 'pkg'
    plans = rig.plan(node('left') + node('right')).processes
    return plans, lambda: [(folder / f'{n}.seen').read_text() for n in ('left', 'right')]


def test_an_error_of_the_runner_stops_everything_in_order(venting):
    plans, seen = venting
    ready: list[str] = []

    def line(name: str, text: str, on_screen: bool) -> None:
        ready.append(name)
        if len(ready) >= len(plans):
            raise RuntimeError('no sink')

    with pytest.raises(RuntimeError, match='no sink'):
        Supervisor(plans, line, lambda text: None).run()
    assert seen() == ['INT\n', 'INT\n']


def test_an_error_while_stopping_ends_nothing_early(venting):
    plans, seen = venting
    ready: list[str] = []

    def line(name: str, text: str, on_screen: bool) -> None:
        ready.append(name)
        if len(ready) == len(plans):
            os.kill(os.getpid(), signal.SIGINT)

    def notice(text: str) -> None:
        if text.startswith('stopping'):
            raise RuntimeError('no sink')

    with pytest.raises(RuntimeError, match='no sink'):
        Supervisor(plans, line, notice).run()
    assert seen() == ['INT\n', 'INT\n']


def test_a_reader_that_fails_for_good_does_not_hold_the_order_up(rig, monkeypatch):
    rig.add(
        'patient',
        'trap "" INT\ntrap "echo TERM > $0.seen; exit 0" TERM\necho ready\n'
        + ('while :; do sleep 0.05; done'),
    )
    plans = rig.plan(node('patient', 'sigterm_timeout="0.3"')).processes

    def fail(*_: object) -> None:
        raise RuntimeError('no reader')

    monkeypatch.setattr(Supervisor, '_read', fail)
    with pytest.raises(RuntimeError, match='no reader'):
        Supervisor(plans, lambda *_: None, lambda text: None).run()
    assert (rig.folder / 'lib' / 'pkg' / 'patient.seen').read_text() == 'TERM\n'


def test_a_full_disk_ends_the_log_and_no_process(venting, tmp_path):
    plans, seen = venting
    (tmp_path / 'launch.log').symlink_to('/dev/full')
    screen = io.StringIO()
    output = LaunchOutput(tmp_path, screen)

    def line(name: str, text: str, on_screen: bool) -> None:
        output.line(name, text, on_screen)
        if screen.getvalue().count('ready') == len(plans):
            os.kill(os.getpid(), signal.SIGINT)

    assert Supervisor(plans, line, output.notice).run() == 0
    output.close()
    assert seen() == ['INT\n', 'INT\n']
    assert screen.getvalue().count('the log ends here') == 1
    assert screen.getvalue().count('venting') == len(plans)


class Broken(io.StringIO):
    """A terminal that is gone."""

    def write(self, text: str) -> int:
        raise OSError('gone')


def test_a_screen_that_is_gone_is_told_in_the_log_once(tmp_path):
    output = LaunchOutput(tmp_path, Broken())
    output.notice('one')
    output.line('node', 'two', on_screen=True)
    output.close()
    assert output.log_file.read_text().splitlines() == [
        '[launch] one',
        '[launch] nothing more is shown on the screen: gone',
        '[node] two',
    ]


def test_characters_that_a_screen_lacks_are_spelled_out(tmp_path):
    written = io.BytesIO()
    output = LaunchOutput(tmp_path, io.TextIOWrapper(written, encoding='ascii'))
    output.line('node', '5 \N{MICRO SIGN}m', on_screen=True)
    output.line('node', 'end', on_screen=True)
    output.close()
    assert written.getvalue() == b'[node] 5 \\xb5m\n[node] end\n'
    assert output.log_file.read_text(encoding='utf-8') == '[node] 5 \N{MICRO SIGN}m\n[node] end\n'


def test_folders_of_killed_launchers_are_removed_and_no_others(tmp_path, monkeypatch):
    ended = subprocess.Popen([sys.executable, '-c', ''])
    ended.wait()
    monkeypatch.setattr(tempfile, 'tempdir', str(tmp_path))
    names = [f'soro_launch_{n}_x' for n in (ended.pid, os.getpid())]
    for name in (*names, 'soro_launch_old', 'other'):
        (tmp_path / name).mkdir()
        (tmp_path / name / 'launch_params_1.yaml').touch()
    run._remove_left_behind()
    assert {f.name for f in tmp_path.iterdir()} == {names[1], 'soro_launch_old', 'other'}


def test_a_log_that_cannot_be_begun_says_how_it_is_put_elsewhere(tmp_path):
    (tmp_path / 'file').touch()
    (tmp_path / 'logs' / 'launch.log').mkdir(parents=True)
    for folder in (tmp_path / 'file', tmp_path / 'file' / 'logs', tmp_path / 'logs'):
        with pytest.raises(LaunchError, match=f'{folder}.*; ROS_LOG_DIR names another'):
            LaunchOutput(folder)
