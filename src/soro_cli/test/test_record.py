# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The verb record: killed at any moment, ended from the background, for a duration."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from std_msgs.msg import String

from soro_cli.main import main
from soro_cli.record_session import RecordResult
from soro_msgs.msg import ActuatorState
from soro_recording.bag_reader import BagReader
from soro_recording.recorder_node import SETTLED
from soro_rigs.domains import own_domain
from soro_rigs.ros_session import RosSession, wait_until


def state(i: int) -> ActuatorState:
    message = ActuatorState(name=['m1', 'm2'], quantity=[3, 3], flags=[0, 64])
    message.header.stamp.sec = i
    message.commanded = message.applied = message.measured = [0.5 * i, -1.0]
    return message


def listening(*publishers: object) -> None:
    """Wait until both sides know of each other: what is sent before is no loss."""
    wait_until(lambda: all(p.get_subscription_count() > 0 for p in publishers))


class Pause:
    """Waits for a moment without sleeping through it."""

    def __init__(self) -> None:
        import threading

        self._event = threading.Event()

    def until(self, moment: float) -> None:
        self._event.wait(max(0.0, moment - time.monotonic()))


def test_a_killed_recorder_leaves_everything_up_to_its_last_flush(tmp_path):
    folder = tmp_path / 'run'
    with RosSession('/left') as ros:
        publisher = ros.client.create_publisher(ActuatorState, 'actuator_state', 10)
        with subprocess.Popen(
            [sys.executable, '-m', 'soro_cli.main', 'record', '--everything', '-o', str(folder)],
            env={**os.environ, 'ROS_DOMAIN_ID': str(own_domain())},
            stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
        ) as process:
            try:
                listening(publisher)
                sent = 0

                def seen() -> int:
                    nonlocal sent
                    publisher.publish(state(sent))
                    sent += 1
                    with BagReader(folder) as bag:
                        topic = bag.topics.get('/left/actuator_state')
                        return topic is not None and topic.count > 20 and topic.count

                before = wait_until(seen)
            finally:
                process.send_signal(signal.SIGKILL)
    with BagReader(folder) as bag:
        assert not bag.finished
        found = [m.message.header.stamp.sec for m in bag.messages(['/left/actuator_state'])]
    assert before <= len(found) <= sent
    assert found == list(range(len(found)))


def test_who_sees_the_folder_may_end_the_recording_even_from_the_background(tmp_path):
    """A command that a shell starts with & ignores SIGINT until it asks for it."""
    folder = tmp_path / 'bag'
    with subprocess.Popen(
        [sys.executable, '-m', 'soro_cli.main', 'record', '--everything', '-o', str(folder)],
        env={**os.environ, 'ROS_DOMAIN_ID': str(own_domain())},
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    ) as process:
        try:
            wait_until(folder.is_dir, 60.0)
            process.send_signal(signal.SIGINT)
            assert process.wait(30.0) == 0
        finally:
            process.kill()
    with BagReader(folder) as bag:
        assert bag.finished


@pytest.mark.parametrize(
    ('words', 'said'),
    [
        (('--duration', '0'), 'give a number of seconds above zero'),
        (('--duration', '-1'), 'give a number of seconds above zero'),
        (('--duration', 'nan'), "--duration: 'nan' is no finite number"),
        (('--duration', 'inf'), "--duration: 'inf' is no finite number"),
        (('--duration', '1e999s'), "--duration: '1e999s': not a finite number"),
        (('--duration', '2min'), "--duration: '2min': unknown unit 'min'"),
        (('--duration', '2mm'), "--duration: '2mm': 'mm' measures another dimension"),
        (('--reserve', '-5'), '--reserve = -5: give megabytes'),
    ],
)
def test_numbers_that_make_no_sense_are_refused(words, said, capsys):
    assert main(['record', '--everything', *words]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ('count', 'options', 'code'),
    [(0, ['--duration', '3'], 1), (3, ['--duration', '3'], 0), (0, [], 0)],  # ended by a person
)
def test_a_bag_without_a_message_is_no_success(count, options, code, monkeypatch, capsys):
    result = RecordResult('bags/x', 23.0, 20.1, 9000, {'/a': count}, 0, 0, '')
    monkeypatch.setattr('soro_cli.record_session.record', lambda arguments: result)
    assert main(['record', '--topics', 'tip_psoe', *options]) == code
    assert ('nothing was recorded' in capsys.readouterr().err) is bool(code)


def test_the_duration_begins_when_the_topics_are_connected(tmp_path):
    folder, duration = tmp_path / 'bag', 1.5
    with RosSession('/left') as ros:
        early = ros.client.create_publisher(String, 'early', 10)
        with subprocess.Popen(
            [
                sys.executable,
                '-m',
                'soro_cli.main',
                'record',
                '--everything',
                '-o',
                str(folder),
                '--duration',
                str(duration),
                '--topics',
                '/(early|late)$',
                '--json',
            ],
            env={**os.environ, 'ROS_DOMAIN_ID': str(own_domain())},
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
        ) as process:
            try:
                # From its first sight of a topic it waits for more, twice as long as this takes.
                listening(early)
                Pause().until(time.monotonic() + 0.5 * SETTLED)
                late = ros.client.create_publisher(String, 'late', 10)
                listening(late)
                pause = Pause()
                while process.poll() is None:
                    late.publish(String(data='late'))
                    pause.until(time.monotonic() + 0.01)
            finally:
                process.kill()
            output, said = (stream.read().decode() for stream in (process.stdout, process.stderr))
    answer = json.loads(output)
    assert process.returncode == 0
    assert '2 topics are connected after' in said
    assert answer['connected_after'] > 1.5 * SETTLED
    assert answer['seconds'] - answer['connected_after'] == pytest.approx(duration, abs=0.5)
    with BagReader(folder) as bag:
        times = [m.time for m in bag.messages(['/left/late'])]
    assert times[-1] - times[0] >= duration


def test_record_needs_a_robot_and_info_a_bag(tmp_path):
    def soro(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, '-m', 'soro_cli.main', *words],
            capture_output=True,
            text=True,
            env={**os.environ, 'ROS_DOMAIN_ID': str(own_domain())},
            timeout=60,
            check=False,
        )

    done = soro('record', '-n', 'nobody')
    assert done.returncode == 1
    assert 'no robot runs under /nobody' in done.stderr
    done = soro('info', str(tmp_path))
    assert done.returncode == 1
    assert 'holds no .mcap file' in done.stderr
