# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The valve board alone, millisecond by millisecond: rules, watchdog, budgets, at most once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from plain_muscles import PLAIN
import pytest

from soro_driver.serial.frame import (
    Ack,
    Arm,
    Disarm,
    Frame,
    Heartbeat,
    Hello,
    Nack,
    Reason,
    Reset,
    SerialState,
    SESSION_BODIES,
)
from soro_emulation.event_log import EventLog
from soro_rigs.event_log import read_events
from soro_stm32_driver.emulator.board import BoardProperties, Stm32Board
from soro_stm32_driver.emulator.muscle_bank import MuscleBank
from soro_stm32_driver.pairing import in_order
from soro_stm32_driver.protocol import (
    Action,
    BODIES,
    SetBitmap,
    SetTimed,
    Status,
    StatusFlag,
    Timed,
    ValveReason,
    ValveTimes,
    VentAll,
)

PAIRING = in_order(30)
MUSCLES = replace(PLAIN, curvature=0.15, spread=0.06)
WRAPS_SOON = 2**32 - 3000
SESSION = 77


class Rig:
    """A board, a host and a clock."""

    def __init__(self, folder, **properties):
        self.file = folder / 'log.jsonl'
        self.now = 100.0
        bank = MuscleBank(np.full(30, 0.1), MUSCLES, np.random.default_rng(1), self.now)
        given = BoardProperties(**{'vent_time': 1200, 'first_tick': WRAPS_SOON, **properties})
        self.board = Stm32Board(given, bank, EventLog(str(self.file)), self.now, 12345)
        self.bank = bank
        self.seq = 0
        self.frames: list[Frame] = []

    def run(self, seconds: float, alive: bool = True) -> None:
        end = self.now + seconds
        while self.now < end - 1e-9:
            self.now = min(end, self.now + 0.005)
            self.frames += self.board.advance(self.now)
            if alive and round(self.now * 200) % 20 == 0:
                self.say(Heartbeat(SESSION))

    def say(self, body, seq=None):
        if seq is None:
            self.seq = seq = self.seq + 1
        answers = self.board.receive(body.frame(seq), self.now)
        kinds = {**SESSION_BODIES, **BODIES}
        return kinds[answers[0].type].unpack(answers[0].body) if answers else None

    def arm(self) -> None:
        self.run(0.4, alive=False)
        self.say(Hello(SESSION))
        self.say(Disarm())
        self.run(1.6)
        assert isinstance(self.say(Arm(SESSION)), Ack)

    def timed(self, *actions, late=300, seq=None):
        deadline = (self.board.time + late) & 0xFFFF
        return self.say(SetTimed(deadline, tuple(Timed(*a) for a in actions)), seq)

    def status(self) -> Status:
        return Status.unpack([f for f in self.frames if f.type == Status.type][-1].body)

    def worked(self, muscle: int):
        last = [f for f in self.frames if f.type == ValveTimes.type][-1]
        return ValveTimes.unpack(last.body).muscles[muscle]

    def events(self, name):
        return read_events(self.file, name)


@pytest.fixture
def rig(tmp_path):
    """Return an armed board whose clock wraps soon."""
    made = Rig(tmp_path)
    made.arm()
    return made


def test_a_timed_command_opens_a_valve_for_exactly_so_long(rig):
    before = rig.bank.free[4]
    assert isinstance(rig.timed((4, Action.INFLATE, 730)), Ack)
    rig.run(1.2)
    mine = [e for e in rig.events('valve') if e['muscle'] == 4 and e['action'] == 'inflate']
    on, off = (e['t'] for e in mine)
    assert off - on == pytest.approx(0.730, abs=1e-6)
    assert rig.worked(4).inflate == 730 and rig.worked(4).inflations == 1
    assert rig.bank.free[4] > before + 2e-3
    assert rig.bank.overlaps == 0


def test_actions_of_a_muscle_follow_each_other_with_a_pause_between_opposites(rig):
    rig.timed((0, Action.INFLATE, 100))
    rig.timed((0, Action.INFLATE, 50))
    rig.timed((0, Action.DEFLATE, 60))
    rig.run(0.5)
    rows = [(e['action'], e['on'], e['t']) for e in rig.events('valve')][-4:]
    assert [r[:2] for r in rows] == [
        ('inflate', True),
        ('inflate', False),
        ('deflate', True),
        ('deflate', False),
    ]
    gaps = np.diff([r[2] for r in rows])
    assert gaps == pytest.approx([0.150, 0.020, 0.060], abs=1e-6)
    assert rig.bank.overlaps == 0


def test_a_repeated_number_gets_the_same_answer_and_acts_once(rig):
    first = rig.timed((3, Action.INFLATE, 200), seq=500)
    for _ in range(3):
        rig.run(0.1)
        assert rig.timed((3, Action.INFLATE, 200), seq=500) == first
    rig.run(0.5)
    assert rig.worked(3).inflate == 200
    assert len(rig.events('repeated')) == 3
    assert rig.status().done & 1 and rig.status().last_seq == 500


def test_late_and_very_old_commands_are_stale(rig):
    answer = rig.timed((0, Action.INFLATE, 100), late=-1)
    assert isinstance(answer, Nack) and answer.reason == ValveReason.STALE
    assert rig.timed((0, Action.INFLATE, 100), late=5000).reason == ValveReason.STALE
    for k in range(20):
        rig.timed((k, Action.DEFLATE, 20), seq=1000 + k)
    assert rig.timed((0, Action.INFLATE, 100), seq=1001).reason == ValveReason.STALE
    assert rig.timed((0, Action.INFLATE, 100), seq=990).reason == ValveReason.STALE
    rig.run(0.3)
    assert rig.worked(0).inflate == 0
    # Reordered within the window, but new: carried out.
    assert isinstance(rig.timed((1, Action.DEFLATE, 20), seq=1021), Ack)
    assert isinstance(rig.timed((2, Action.DEFLATE, 20), seq=1020), Ack)


@pytest.mark.parametrize(
    ('actions', 'reason', 'muscle'),
    [
        ([(5, 1, 100), (5, 2, 100)], ValveReason.INTERLOCK, 5),
        ([(5, 1, 100), (5, 1, 100)], ValveReason.MUSCLE, 5),
        ([(30, 1, 100)], ValveReason.MUSCLE, 30),
        ([(7, 1, 65535)], ValveReason.DURATION, 7),
        ([(7, 2, 19)], ValveReason.DURATION, 7),
        ([(7, 9, 100)], Reason.OUT_OF_RANGE, 7),
        ([(i, 1, 100) for i in range(2, 30)], ValveReason.SUPPLY, 1),
    ],
)
def test_what_breaks_a_rule_is_refused_as_a_whole(rig, actions, reason, muscle):
    answer = rig.timed((1, Action.INFLATE, 100), *actions)
    assert isinstance(answer, Nack)
    assert (answer.reason, answer.detail) == (reason, muscle)
    rig.run(0.3)
    assert rig.status().valves == 0 and rig.worked(1).inflate == 0
    name = reason.name
    assert [e['reason'] for e in rig.events('refused')] == [name]


def test_a_budget_ends_inflation_and_deflation_gives_it_back(tmp_path):
    rig = Rig(tmp_path, budget=1000)
    rig.arm()
    assert isinstance(rig.timed((2, Action.INFLATE, 800)), Ack)
    rig.run(1.0)
    answer = rig.timed((2, Action.INFLATE, 300))
    assert (answer.reason, answer.detail) == (ValveReason.BUDGET, 2)
    assert rig.status().budget == 200
    # What waits counts as well: two halves are no way around it.
    assert isinstance(rig.timed((8, Action.INFLATE, 600)), Ack)
    assert rig.timed((8, Action.INFLATE, 600)).reason == ValveReason.BUDGET
    rig.timed((2, Action.DEFLATE, 200))
    rig.run(1.0)
    assert isinstance(rig.timed((2, Action.INFLATE, 300)), Ack)
    assert [e['reason'] for e in rig.events('refused')] == ['BUDGET', 'BUDGET']


def test_silence_closes_inflation_after_500_ms_and_vents_one_second_later(rig):
    rig.timed((6, Action.INFLATE, 2000))
    rig.run(0.2)
    rig.say(Heartbeat(SESSION))
    since = rig.now
    rig.run(2.0, alive=False)
    (stopped,) = rig.events('watchdog')
    vent = rig.events('vent')[-1]
    assert stopped['t'] - since == pytest.approx(0.5, abs=2e-3)
    assert vent['t'] - since == pytest.approx(1.5, abs=2e-3) and vent['why'] == 'watchdog'
    off = [e for e in rig.events('valve') if e['muscle'] == 6 and e['action'] == 'inflate'][-1]
    assert not off['on'] and off['t'] == pytest.approx(stopped['t'], abs=2e-3)
    rig.run(1.5, alive=False)
    assert rig.events('vented')[-1]['t'] > vent['t']
    assert rig.bank.free[6] == pytest.approx(0.08, abs=1e-6)
    assert rig.status().flags & StatusFlag.TRIPPED
    assert rig.timed((6, Action.INFLATE, 100)).reason == Reason.STATE


def test_a_reboot_while_inflating_closes_everything_and_resumes_nothing(rig):
    rig.timed((6, Action.INFLATE, 2000), (7, Action.INFLATE, 2000))
    rig.run(0.3)
    boot = rig.board.boot_id
    rig.board.reboot(rig.now)
    at = rig.now
    assert rig.timed((6, Action.INFLATE, 100)) is None  # it boots
    rig.run(1.0)
    assert rig.board.boot_id != boot
    opened = [e for e in rig.events('valve') if e['t'] > at and e['on']]
    assert [e for e in opened if e['action'] == 'inflate'] == []
    assert rig.timed((6, Action.INFLATE, 100)).reason == Reason.STATE
    assert rig.say(Arm(SESSION)).reason == Reason.SESSION
    # Nobody opens a session: nobody knows how full the muscles are, so they are vented.
    rig.run(2.0, alive=False)
    assert rig.events('vent')[-1]['why'] == 'watchdog'


def test_low_supply_latches_a_fault_and_vents(rig):
    rig.timed((6, Action.INFLATE, 500))
    rig.bank.supply = 2e4
    assert rig.timed((5, Action.INFLATE, 500)).reason == ValveReason.SUPPLY
    rig.run(0.6)
    assert rig.status().state == SerialState.FAULT and rig.status().faults == 1
    assert not PAIRING.open(rig.status().valves)[:, 0].any()
    rig.bank.repair()
    rig.run(2.0)
    assert isinstance(rig.say(Arm(SESSION)), Nack)
    assert isinstance(rig.say(Reset(SESSION)), Ack)
    assert isinstance(rig.say(Arm(SESSION)), Ack)


def test_maintenance_bitmap_keeps_the_interlock_and_ends_by_itself(rig):
    both = PAIRING.bit(3, 0) | PAIRING.bit(3, 1)
    answer = rig.say(SetBitmap(both, both, 100))
    assert (answer.reason, answer.detail) == (ValveReason.INTERLOCK, 3)
    assert rig.say(SetBitmap(both, PAIRING.bit(3, 0), 100)).reason == Reason.STATE  # ARMED
    rig.say(Disarm())
    rig.run(1.6)
    assert isinstance(rig.say(SetBitmap(both, PAIRING.bit(3, 0), 100)), Ack)
    answer = rig.say(SetBitmap(PAIRING.bit(3, 1), PAIRING.bit(3, 1), 100))
    assert answer.reason == ValveReason.INTERLOCK
    rig.run(0.3)
    assert rig.status().valves == 0


def test_relays_do_not_pull_in_together(rig):
    rig.timed(*((i, Action.INFLATE, 100) for i in range(16)))
    rig.run(0.3)
    on = [e['t'] for e in rig.events('valve') if e['action'] == 'inflate' and e['on']]
    assert len(on) == 16 and np.diff(on) == pytest.approx(np.full(15, 0.002), abs=1e-6)


def test_another_session_disarms(rig):
    rig.say(Hello(SESSION + 1))
    assert rig.board.state is SerialState.SAFE
    assert rig.say(Heartbeat(SESSION)).reason == Reason.SESSION
    assert rig.events('vent')[-1]['why'] == 'another host'


def test_vent_is_possible_in_every_state(rig):
    rig.timed((6, Action.INFLATE, 2000))
    rig.run(0.1)
    assert isinstance(rig.say(VentAll()), Ack)
    rig.run(0.05)
    assert rig.status().flags & StatusFlag.VENTING or rig.board.valves.venting
    assert rig.timed((6, Action.INFLATE, 100)).reason == Reason.STATE
    assert rig.bank.overlaps == 0


def test_unknown_frames_are_refused_and_answered(rig):
    (answer,) = rig.board.receive(Frame(0x55, 9), rig.now)
    assert Nack.unpack(answer.body).reason == Reason.UNKNOWN_TYPE
    (answer,) = rig.board.receive(Frame(SetTimed.type, 9, b'\1'), rig.now)
    assert Nack.unpack(answer.body).reason == Reason.BAD_LENGTH
    (answer,) = rig.board.receive(Frame(Heartbeat.type, 9, b'', 0x20), rig.now)
    assert Nack.unpack(answer.body).reason == Reason.VERSION
