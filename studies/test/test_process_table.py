# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Processor time and children of processes, against what the system calls say."""

import os
import resource
import subprocess
import sys
import time

import pytest

from soro_rigs.process_table import ProcessTable

TICK = 1.0 / os.sysconf('SC_CLK_TCK')
# Burns processor time itself and in a child that it waits for, then says so and stays.
PROGRAM = """
import subprocess, sys, time
burn = 'import time\\nwhile time.process_time() < 0.3: pass'
subprocess.run([sys.executable, '-c', burn])
exec(burn)
print('done', flush=True)
sys.stdin.read()
"""


@pytest.fixture
def child():
    with subprocess.Popen(
        [sys.executable, '-c', PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b'done\n'
        yield process
        process.communicate()


def test_own_time_is_that_of_the_process():
    before = time.process_time()
    seconds = ProcessTable().own_seconds(os.getpid())
    # Times in the table are whole ticks, of user and system each.
    assert before - 2 * TICK <= seconds <= time.process_time() + 2 * TICK


def test_time_of_everything_below_is_counted_once(child):
    table = ProcessTable()
    own, whole = table.own_seconds(child.pid), table.seconds(child.pid)
    assert 0.3 <= own + 2 * TICK and own + 0.3 <= whole + 4 * TICK
    above = table.seconds(os.getpid()) - table.own_seconds(os.getpid())
    waited = resource.getrusage(resource.RUSAGE_CHILDREN)
    ended = waited.ru_utime + waited.ru_stime
    assert above == pytest.approx(ended + whole, abs=8 * TICK)


def test_children_are_those_that_were_started(child):
    assert child.pid in ProcessTable().children(os.getpid())
    assert ProcessTable().children(child.pid) == []


def test_a_process_that_is_not_there_has_no_time():
    table, number = ProcessTable(), 2**22 + 1  # beyond the largest there can be
    assert table.children(number) == []
    for seconds in (table.seconds, table.own_seconds):
        with pytest.raises(ProcessLookupError):
            seconds(number)
