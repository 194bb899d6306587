# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Messages of a recording found by time, without all of them in memory."""

from types import SimpleNamespace
import weakref

from soro_visualization.playback import DIAGNOSTICS, NANOSECONDS, Recording

START = 1_700_000_000 * 10**9
SECOND = 10**9


class Entry:
    """One recorded message; its message says when it came."""

    def __init__(self, topic, stamp):
        self.topic, self.stamp = topic, stamp
        name = f'/arm/{(stamp - START) / SECOND:g}'
        self.message = SimpleNamespace(
            stamp=stamp, status=[SimpleNamespace(name=name), SimpleNamespace(name='/leg/driver')]
        )


class Reader:
    """Ten minutes of shapes, 10 in a second, and one report each second; counts what is alive."""

    def __init__(self):
        self.alive, self.most = 0, 0

    def messages(self, topics, start=None, end=None):
        low = START if start is None else max(start, START)
        high = START + 600 * SECOND if end is None else min(end, START + 600 * SECOND)
        step = SECOND // 10
        for stamp in range(START + -((START - low) // step) * step, high, step):
            yield self.entry('/arm/configuration', stamp)
            if (stamp - START) % SECOND == 0:
                yield self.entry(DIAGNOSTICS, stamp)
            if stamp == START + 5 * SECOND:
                yield self.entry('/arm/workspace', stamp)
                yield self.entry('/arm/workspace', stamp)  # at the same time

    def entry(self, topic, stamp):
        entry = Entry(topic, stamp)
        self.alive += 1
        self.most = max(self.most, self.alive)
        weakref.finalize(entry, self.forget)
        return entry

    def forget(self):
        self.alive -= 1


def test_messages_are_read_when_they_are_shown_and_not_kept():
    reader = Reader()
    recording = Recording(reader, '/arm')
    assert recording.start == START * NANOSECONDS
    assert abs(recording.duration - 599.9) < 1e-9
    for tenth in (*range(0, 6000, 7), 3, 5999):
        message = recording.newest('configuration', tenth / 10 + 0.04)
        assert message.stamp == START + tenth * SECOND // 10
    assert reader.most < 200  # of 6600


def test_what_is_newest_and_what_was_reported():
    recording = Recording(Reader(), '/arm')
    assert recording.newest('configuration', -0.1) is None
    assert recording.newest('configuration', 700.0).stamp == START + 599_900_000_000
    assert recording.newest('configuration', 700.0, oldest=0.5) is None
    assert recording.newest('joint_states', 1.0) is None
    assert [recording.number('workspace', at) for at in (4.9, 5.0, 600.0)] == [0, 2, 2]
    assert recording.newest('workspace', 400.0).stamp == START + 5 * SECOND
    names = [status.name for status in recording.reports(7.5)]
    assert names == ['/arm/6', '/arm/7']
