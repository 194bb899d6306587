# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C at any moment, outputs that cannot be written: a code and a line, no traceback."""

import os
from pathlib import Path
import signal
import subprocess
import sys
import threading

import pytest

from soro_rigs.domains import own_domain
from soro_rigs.ros_session import wait_until

ROOT = Path(__file__).resolve().parents[3]
SORO = ROOT / 'scripts/bin/soro'
COMMANDS = (
    ('list', '--running'),
    ('fk', '0', '0', '0', '--offline', '--robot', 'stiff_flop'),
    ('move', '--rest'),
    ('stop',),
    ('doctor',),
)
ENVIRONMENT = {**os.environ, 'ROS_DOMAIN_ID': str(own_domain())}


def interrupted(words, after):
    """Return exit code and errors of a command that gets a Ctrl-C after some seconds."""
    process = subprocess.Popen(
        [SORO, *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    threading.Event().wait(after)  # what is tried is the moment
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    return process.returncode, said


@pytest.mark.parametrize('words', COMMANDS, ids=lambda w: w[0])
def test_an_interrupt_in_the_first_second_is_no_traceback(words):
    for moment in (0.0, 0.05, 0.15, 0.3, 0.6, 0.9):
        code, said = interrupted(words, moment)
        assert 'Traceback' not in said and 'KeyboardInterrupt' not in said, (moment, said)
        assert code in (130, -signal.SIGINT, 0, 1, 2), (moment, code, said)


@pytest.mark.parametrize('words', [('record',), ('launch', 'slow.launch.xml')], ids=lambda w: w[0])
def test_what_a_script_has_in_the_background_hears_an_interrupt_before_it_is_ready(
    tmp_path, words
):
    """A shell without job control has SIGINT ignored there."""
    slow = '<launch><let name="x" value="$(command \'sleep 30\')"/></launch>'
    (tmp_path / 'slow.launch.xml').write_text(slow)
    process = subprocess.Popen(
        [SORO, *words],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )

    def hears():
        status = Path(f'/proc/{process.pid}/status').read_text()
        caught = int(status.partition('SigCgt:')[2].split()[0], 16)
        return caught >> signal.SIGINT - 1 & 1

    try:
        wait_until(hears, 20.0)
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=20)[1] == b''
    finally:
        process.kill()
    assert process.returncode == 130


@pytest.mark.parametrize('words', [('list',), ('list', '--json'), ('--help',), ('list', '--help')])
@pytest.mark.parametrize('buffered', ['', '1'])
def test_an_output_that_is_full_is_said(words, buffered):
    with open('/dev/full', 'w') as full:
        done = subprocess.run(
            [sys.executable, '-m', 'soro_cli.main', *words],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env={**ENVIRONMENT, 'PYTHONUNBUFFERED': buffered},
        )
    assert done.returncode == 1
    assert done.stderr == 'soro: the output cannot be written: No space left on device\n'


def test_closed_and_broken_outputs_are_no_tracebacks():
    words = [sys.executable, '-m', 'soro_cli.main', 'list']
    closed = subprocess.run(
        ['sh', '-c', '"$@" >&-', 'sh', *words], stderr=subprocess.PIPE, text=True, check=False
    )
    assert (closed.returncode, closed.stderr) == (0, '')
    silent = subprocess.run(
        ['sh', '-c', '"$@" 2>/dev/full', 'sh', *words[:-1], 'nonsense'], check=False
    )
    assert silent.returncode == 2
    broken = subprocess.run(
        ['sh', '-c', '"$@" | true', 'sh', *words], stderr=subprocess.PIPE, text=True, check=False
    )
    assert broken.stderr == ''
