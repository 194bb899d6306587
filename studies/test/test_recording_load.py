# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The study of the recorder's load: a loss is seen, a boundary is none, the page says both."""

from __future__ import annotations

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
import pytest
from rclpy.serialization import serialize_message

from soro_msgs.msg import ActuatorState
from soro_recording.bag_reader import BagReader
from soro_recording.bag_writer import BagWriter
from soro_recording.message_definitions import full_definition
from soro_studies.system.measured_section import replace_section
from soro_studies.system.recording_load import (
    BOUNDARY,
    count_rates,
    count_ticks,
    Load,
    LOOP,
    parse,
    REPORTS,
    section,
    STATE,
    Ticks,
)

PERIOD = 2_000_000  # ns
SECOND = 10**9
FIRST = 1000  # ticks before the recording


def state():
    values = {key: [0.5] for key in ('commanded', 'applied', 'measured')}
    return ActuatorState(name=['motor'], quantity=[3], flags=[0], **values)


def stamped(message, now):
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(now, SECOND)
    return serialize_message(message)


def bag_of(folder, seconds, lost=(), counts=None, late=1):
    """Write what a loop at 500 Hz leaves: a state per tick, a report per second."""
    bag = BagWriter(folder, distribution='kilted')
    kinds = {STATE: 'soro_msgs/msg/ActuatorState', REPORTS: 'diagnostic_msgs/msg/DiagnosticArray'}
    numbers = {t: bag.add_topic(t, kind, full_definition(kind)) for t, kind in kinds.items()}
    for tick in range(500 * seconds + 1):
        now = SECOND + tick * PERIOD
        if tick % 500 == 0:
            count = FIRST + tick if counts is None else counts[tick // 500]
            values = {'rate_hz': '500.0', 'ticks': str(count), 'missed': str(3 + tick // 500)}
            status = DiagnosticStatus(
                name='/' + LOOP, values=[KeyValue(key=k, value=v) for k, v in values.items()]
            )
            other = DiagnosticStatus(name='recorded/driver: device')
            message = DiagnosticArray(status=[other, status])
            bag.write(numbers[REPORTS], now, stamped(message, now))
        if tick not in lost:
            bag.write(numbers[STATE], now + late, stamped(state(), now))
    bag.close()
    return folder


def ticks_of(folder):
    with BagReader(folder) as bag:
        return count_ticks(bag)


def test_a_whole_recording_has_a_state_for_every_tick(tmp_path):
    ticks = ticks_of(bag_of(tmp_path / 'run', 4))
    assert (ticks.done, ticks.missed, ticks.rate) == (2000, 4, 500.0)
    assert abs(ticks.done - ticks.recorded) <= 1 and ticks.lost == 0
    assert ticks.seconds == pytest.approx(4.0)


def test_states_that_come_late_are_not_lost(tmp_path):
    assert ticks_of(bag_of(tmp_path / 'run', 4, late=SECOND)).lost == 0


def test_states_that_are_not_in_the_bag_are_counted(tmp_path):
    ticks = ticks_of(bag_of(tmp_path / 'run', 4, lost=range(700, 800)))
    assert ticks.lost == pytest.approx(100 - BOUNDARY, abs=1)


def test_reports_before_the_first_state_do_not_count(tmp_path):
    ticks = ticks_of(bag_of(tmp_path / 'run', 4, lost=range(250)))
    assert ticks.lost == 0 and ticks.done == 1500
    assert ticks.seconds == pytest.approx(3.0)
    with pytest.raises(RuntimeError, match='record longer'):
        ticks_of(bag_of(tmp_path / 'none', 2, lost=range(1001)))


def test_a_driver_that_counts_anew_is_compared_before_and_after(tmp_path):
    counts = (1000, 1500, 5, 505, 1005)
    ticks = ticks_of(bag_of(tmp_path / 'new', 4, counts=counts))
    assert (ticks.done, ticks.restarts, ticks.lost) == (1500, 1, 0)
    assert ticks.seconds == pytest.approx(3.0)
    holed = ticks_of(bag_of(tmp_path / 'holed', 4, lost=range(1600, 1900), counts=counts))
    assert holed.lost == pytest.approx(300 - 2 * BOUNDARY, abs=2)


def test_a_short_recording_says_nothing(tmp_path):
    with pytest.raises(RuntimeError, match='record longer'):
        ticks_of(bag_of(tmp_path / 'short', 0))


def test_a_rate_counts_from_the_first_message_to_the_last(tmp_path):
    for lost, rate in (((), 500.0), (range(500), 500.0), (range(700, 800), 475.0)):
        with BagReader(bag_of(tmp_path / f'run{len(lost)}', 4, lost=lost)) as bag:
            rates = count_rates(bag)
        assert rates[STATE] == pytest.approx(rate) and rates[REPORTS] == pytest.approx(1.0)


def load_of(**changes):
    ticks = Ticks(300000, 12, changes.pop('recorded', 300004), 600.0, 500.0)
    values = {
        'seconds': 598.0,
        'work': 59.8,
        'start_work': 1.5,
        'counts': {STATE: 300100, REPORTS: 900},
        'rates': {STATE: 499.94, REPORTS: 1.5},
        'size': 10**8,
        'lost': 0,
        'dropped': 0,
        'ticks': ticks,
        'haptics': 'off',
        'priority': '0',
        **changes,
    }
    return Load(**values)


def test_what_is_good_and_what_is_not():
    assert load_of().share == pytest.approx(0.1) and load_of().good
    assert not load_of(work=0.16 * 598.0).good
    assert not load_of(lost=1).good and not load_of(dropped=1).good
    assert not load_of(recorded=299000).good


def test_the_section_is_renewed_and_says_what_was_measured(tmp_path):
    page = tmp_path / 'page.md'
    page.write_text('# Recording\n\nText.\n\n## Plot\n\nMore.\n')
    for load in (load_of(work=1.0), load_of()):
        replace_section(page, section(load, 10.0))
    text = page.read_text()
    assert text.count('## What recording costs') == 1
    assert '| recorder, share of a core | 10.0% (wanted: below 15%) |' in text
    assert '301000 messages, 100.0 MB' in text and '300000 (and 12 slots missed)' in text
    assert '| missed, of all slots | 0.004% (wanted: below 0.1%) |' in text
    assert '| `actuator_state` | 300100 | 500 Hz |' in text
    assert 'Nothing is missing' in text and text.startswith('# Recording\n\nText.\n\n## Plot')
    assert '975 are missing' in section(load_of(recorded=299000), 10.0)


def test_a_run_that_says_nothing_is_refused(capsys):
    with pytest.raises(SystemExit):
        parse(['--minutes', '0.05'])
    assert 'six seconds' in capsys.readouterr().err
