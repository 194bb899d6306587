# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What fails is judged once more where the kernel says that something was held up, only there."""

import io
import os
from pathlib import Path
import subprocess
import sys

import pytest

from soro_rigs import held_up
from soro_rigs.held_up import family, HeldUp, judged, undisturbed


@pytest.fixture
def longest(monkeypatch):
    """Return a list of what the watches will have found, in their order."""
    found = []
    monkeypatch.setattr(HeldUp, '__enter__', lambda watch: watch)

    def leave(watch, *error):
        watch.longest = found.pop(0)

    monkeypatch.setattr(HeldUp, '__exit__', leave)
    return found


def test_a_failure_without_a_delay_stands_and_nothing_is_tried_again(longest):
    longest[:], tried = [0.5 * held_up.DISTURBS], []

    @undisturbed
    def test(value):
        tried.append(value)
        raise AssertionError('wrong')

    with pytest.raises(AssertionError, match='wrong'):
        test(3)
    assert tried == [3]


def test_every_attempt_has_an_empty_folder(longest, tmp_path):
    longest[:], found = [0.3, 0.3, 0.0], []

    @undisturbed
    def test(tmp_path):
        found.append(list(tmp_path.iterdir()))
        (tmp_path / 'report.json').touch(exist_ok=False)
        assert len(found) > 2, 'late'

    test(tmp_path=tmp_path)
    assert found == [[], [], []]


def test_a_failure_beside_a_delay_is_no_verdict_and_said(longest):
    longest[:], done, said = [0.3, 0.3, 0.0], [], []

    def attempt():
        done.append('tried')
        assert len(done) > 3, 'late'

    judged(attempt, lambda: done.append('rest'), said.append)
    assert done == ['tried', 'rest', 'tried', 'rest', 'tried']
    assert len(said) == 2 and all('0.30 s' in text and 'late' in text for text in said)


def test_a_computer_that_always_holds_up_fails_in_the_end(longest):
    longest[:] = [1.0] * held_up.TRIES

    def attempt():
        raise AssertionError('late')

    with pytest.raises(AssertionError, match='late'):
        judged(attempt)
    assert longest == []


def test_waits_of_processes_and_their_children_are_seen(monkeypatch):
    looks = []
    child = [sys.executable, '-c', 'import sys; print(1, flush=True); sys.stdin.read()']
    pipe = subprocess.PIPE
    with subprocess.Popen(child, stdin=pipe, stdout=pipe) as process:
        assert process.stdout.readline() == b'1\n'
        assert {os.getpid(), process.pid} <= set(family(os.getpid()))
        monkeypatch.setattr(held_up, 'open', told(looks, process.pid), raising=False)
        with HeldUp() as held:
            looks.append(0.25)  # what the kernel adds
        assert held.longest >= 0.25
        process.stdin.close()


def told(looks, pid):
    """Return how files are opened: a thread of a process has waited for what was told, too."""

    def opened(path, mode):
        with Path(path).open(mode) as stream:
            text = stream.read()
        if f'/{pid}/' in path:
            ran, waited, slices = text.split()
            text = b'%s %d %s' % (ran, int(waited) + round(1e9 * sum(looks)), slices)
        return io.BytesIO(text)

    return opened
