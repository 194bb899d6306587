# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A process that was launched ends with its launcher, however early and whatever is between."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys

import pytest

from soro_node.process.parent_death import LAUNCHER, launcher_lives, until_parent_dies
from soro_rigs.ros_session import wait_until

# A node that says that it runs, and goes on for a minute.
NODE = (
    'import signal, sys, threading; from soro_node.process.parent_death import end_with_launcher;'
    'end_with_launcher(); print("runs", flush=True); threading.Event().wait(60.0)'
)
# A launcher that starts it (through a shell where words say so) and waits to be killed.
LAUNCH = """
import os, subprocess, sys, threading
child = subprocess.Popen(sys.argv[2:], env={**os.environ, 'SORO_LAUNCHER': str(os.getpid())},
                         start_new_session=True, stdout=int(sys.argv[1]), pass_fds=[])
print(child.pid, flush=True)
threading.Event().wait(60.0)
"""
PREFIXES = {'directly': [], 'below a prefix': ['sh', '-c', '"$@"; true', 'sh']}


def gone(pid):
    """Whether a process has ended (init takes note of those whose parent has gone)."""
    try:
        with open(f'/proc/{pid}/stat', encoding='ascii') as file:
            return file.read().rsplit(')', 1)[1].split()[0] == 'Z'
    except FileNotFoundError:
        return True


def start(words):
    """Start a launcher; itself, the process it started, and where that speaks."""
    ours, theirs = os.pipe()
    launcher = subprocess.Popen(
        [sys.executable, '-c', LAUNCH, str(theirs), *words],
        stdout=subprocess.PIPE,
        text=True,
        pass_fds=[theirs],
    )
    os.close(theirs)
    return launcher, int(launcher.stdout.readline()), open(ours, encoding='ascii')  # noqa: SIM115


@pytest.mark.parametrize('prefix', PREFIXES.values(), ids=PREFIXES)
def test_it_ends_with_its_launcher(prefix):
    launcher, pid, speech = start([*prefix, sys.executable, '-c', NODE])
    assert speech.readline() == 'runs\n'
    launcher.kill()
    launcher.wait()
    wait_until(lambda: speech.read() == '' and gone(pid))


def test_one_whose_launcher_has_gone_before_does_not_start():
    done = subprocess.run(
        [sys.executable, '-c', NODE],
        env={**os.environ, LAUNCHER: '999999999'},
        capture_output=True,
        text=True,
        timeout=30.0,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, '')
    assert 'the launcher (process 999999999) has ended' in done.stderr


def test_launchers_killed_as_soon_as_they_have_forked_leave_nothing():
    for delay in (0.0, 0.001, 0.01, 0.1, 0.3):  # nothing tells how far the child has come
        launcher, pid, speech = start([sys.executable, '-c', NODE])
        with contextlib.suppress(subprocess.TimeoutExpired):
            launcher.wait(delay)
        launcher.kill()
        launcher.wait()
        wait_until(lambda: gone(pid))  # noqa: B023
        speech.close()


def test_one_that_was_started_by_hand_goes_on_without_whoever_started_it():
    launcher, pid, speech = start(['env', '-u', LAUNCHER, sys.executable, '-c', NODE])
    assert speech.readline() == 'runs\n'
    launcher.kill()
    launcher.wait()
    assert not gone(pid)
    os.kill(pid, signal.SIGKILL)


def test_the_launcher_is_looked_for_among_all_that_are_above(monkeypatch):
    monkeypatch.setenv(LAUNCHER, str(os.getppid()))
    assert launcher_lives()
    monkeypatch.setenv(LAUNCHER, str(os.getpid()))  # not above itself
    assert not launcher_lives()
    monkeypatch.delenv(LAUNCHER)
    assert launcher_lives()


def test_a_child_made_for_a_parent_that_has_gone_runs_nothing():
    prepare = until_parent_dies()
    middle = os.fork()
    if not middle:  # the parent that `prepare` knows is above this process, not this one
        child = subprocess.run(['true'], preexec_fn=prepare, check=False)
        os._exit(child.returncode)
    assert os.waitstatus_to_exitcode(os.waitpid(middle, 0)[1]) == 1
