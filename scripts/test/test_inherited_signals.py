# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Tests that are started in the background or under nohup send signals to what they start."""

from pathlib import Path
import signal
import subprocess
import sys

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import signal
print(*(signal.getsignal(n) is signal.SIG_IGN for n in (signal.SIGINT, signal.SIGHUP)))
"""


def ignored(number=None):
    """Return how a shell or nohup starts a program."""

    def start():
        for each in (signal.SIGINT, signal.SIGHUP):
            signal.signal(each, signal.SIG_IGN if number == each else signal.SIG_DFL)

    return start


def test_a_program_started_by_a_test_inherits_no_ignored_signal():
    done = subprocess.run(
        [sys.executable, '-c', PROGRAM], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ['False', 'False']


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGHUP])
def test_neither_does_one_of_tests_that_run_in_the_background(number):
    name = f'{Path(__file__)}::test_a_program_started_by_a_test_inherits_no_ignored_signal'
    done = subprocess.run(
        [sys.executable, '-m', 'pytest', '-q', '-p', 'no:cacheprovider', name],
        cwd=ROOT,
        capture_output=True,
        text=True,
        preexec_fn=ignored(number),
        check=False,
    )
    assert done.returncode == 0, done.stdout
