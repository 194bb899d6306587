# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What the sliders send is what the page shows, whatever happens to the robot meanwhile."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file
from soro_visualization.page.panel import ActuatorSliders, HANDS_ON, LET_GO
from soro_visualization.page.readout import ActuatorReadout

CLOCK = 'soro_visualization.page.panel.time'
BAR = 1e5  # Pa
PERIOD = 0.25  # s between two states shown
ACTIVE, SAFE, FAULT = 2, 3, 4
PLANNER, OTHER = '/arm/trajectory_planner', '/arm/other'


class Gui:
    """Makes elements as viser does, without a page."""

    def add_html(self, content):
        return SimpleNamespace(content=content)

    def add_slider(self, label, **properties):
        slider = SimpleNamespace(label=label, value=properties['initial_value'], **properties)
        slider.on_update = lambda callback: setattr(slider, 'moved', callback)
        return slider


class Page:
    """The sliders of a robot, a hand, and what was sent."""

    def __init__(self, monkeypatch):
        self.now = 100.0
        monkeypatch.setattr(CLOCK, SimpleNamespace(monotonic=lambda: self.now))
        self.sent = []
        robot = read_robot_file(find_robot_file('stiff_flop'))
        self.sliders = ActuatorSliders(
            Gui(), robot.actuators, robot.coupled_limits, self.sent.append
        )

    @property
    def shown(self):
        """What the sliders show [Pa]."""
        return np.array([s.value for s in self.sliders._sliders]) * BAR

    def hand(self, index, bar, client=1):
        """Move a slider; it shows the value before anybody is told, as on a page."""
        slider = self.sliders._sliders[index]
        slider.value = bar
        asyncio.run(slider.moved(SimpleNamespace(client_id=client, target=slider)))

    def state(self, applied, state=ACTIVE, owner=PLANNER, after=PERIOD, stops=0):
        """Show a state [bar] some time after the last one."""
        self.now += after
        values = np.array(applied, dtype=float) * BAR
        readout = ActuatorReadout(values, values, values, (0, 0, 0), state, owner, stops)
        self.sliders.show(readout, self.now)

    def rests(self, applied, **of):
        """Show a robot that stays where it is for longer than a hand holds a slider."""
        for _ in range(int(2.0 * HANDS_ON / PERIOD)):
            self.state(applied, **of)


@pytest.fixture
def page(monkeypatch):
    return Page(monkeypatch)


def test_after_somebody_else_has_moved_the_robot_only_the_slider_moved_changes_anything(page):
    page.hand(0, 1.0)
    page.rests((1.0, 0.0, 0.0))
    page.state((0.6, 0.0, 0.0))  # somebody sends it to rest, over the same planner
    page.rests((0.0, 0.0, 0.0))
    np.testing.assert_allclose(page.shown, 0.0)
    page.hand(1, 0.05)
    np.testing.assert_allclose(page.sent[-1], [0.0, 0.05 * BAR, 0.0])


@pytest.mark.parametrize(
    'taken', [{'state': SAFE}, {'state': FAULT, 'owner': ''}, {'owner': OTHER}, {'owner': ''}]
)
def test_a_target_ends_at_once_with_the_state_or_the_owner_it_was_for(page, taken):
    page.state((0.0, 0.0, 0.0))
    page.hand(0, 1.0)
    page.state((0.5, 0.0, 0.0))
    page.state((0.2, 0.0, 0.0), **taken)
    np.testing.assert_allclose(page.shown, [0.2 * BAR, 0.0, 0.0])
    page.now += LET_GO
    page.hand(1, 0.05)
    np.testing.assert_allclose(page.sent[-1], [0.2 * BAR, 0.05 * BAR, 0.0])


def test_taking_control_is_no_loss_of_it(page):
    page.state((0.0, 0.0, 0.0), state=SAFE, owner='')
    page.hand(0, 1.0)
    page.state((0.0, 0.0, 0.0), owner='')
    page.state((0.1, 0.0, 0.0), owner=PLANNER)
    np.testing.assert_allclose(page.shown, [BAR, 0.0, 0.0])


def test_what_a_slow_robot_is_on_its_way_to_stays_shown_and_is_sent_again(page):
    page.hand(0, 1.0)
    for share in np.linspace(0.0, 0.9, 40):
        page.state((share, 0.0, 0.0))
    np.testing.assert_allclose(page.shown, [BAR, 0.0, 0.0])
    page.hand(1, 0.05)
    np.testing.assert_allclose(page.sent[-1], [BAR, 0.05 * BAR, 0.0])


def test_a_target_nobody_follows_is_shown_no_longer(page):
    page.hand(0, 1.0)
    page.rests((0.2, 0.0, 0.0))
    np.testing.assert_allclose(page.shown, [0.2 * BAR, 0.0, 0.0])


def test_a_refused_value_is_neither_shown_nor_sent_later(page):
    page.hand(0, 0.8)
    page.hand(1, 0.5)
    page.hand(0, 1.5)  # 1.5 + 0.25 * 0.5 is too much
    assert 'not sent' in page.sliders._note.content
    np.testing.assert_allclose(page.shown, [0.8 * BAR, 0.5 * BAR, 0.0])
    assert len(page.sent) == 2
    page.hand(1, 0.0)  # with which the refused value would be allowed
    np.testing.assert_allclose(page.sent[-1], [0.8 * BAR, 0.0, 0.0])


def test_rest_is_shown_and_the_base_of_what_comes_next(page):
    page.hand(0, 1.0)
    page.state((1.0, 0.0, 0.0))
    page.sliders.rest()
    page.state((0.9, 0.0, 0.0))
    page.hand(1, 0.05)
    np.testing.assert_allclose(page.sent, [[BAR, 0, 0], [0, 0, 0], [0, 0.05 * BAR, 0]])


@pytest.mark.parametrize('end', ['minimum', 'maximum'])
def test_the_end_of_a_slider_is_the_limit_itself(end):
    # A third of a bar is no number of six digits, and the planner lets nothing beyond.
    actuator = replace(
        read_robot_file(find_robot_file('stiff_flop')).actuators[0],
        minimum=BAR / 3.0,
        maximum=2.0 * BAR / 3.0,
        rest=0.5 * BAR,
    )
    sent = []
    [slider] = ActuatorSliders(Gui(), [actuator], (), sent.append)._sliders
    slider.value = slider.min if end == 'minimum' else slider.max
    asyncio.run(slider.moved(SimpleNamespace(client_id=1, target=slider)))
    assert sent[-1][0] == getattr(actuator, end)


def test_a_stop_is_noticed_in_every_state(page):
    gone = []
    page.sliders.on_taken_away = lambda: gone.append(None)
    page.state((0.0, 0.0, 0.0), state=SAFE, stops=3)  # the first state says nothing of a stop
    page.hand(0, 1.0)
    page.state((0.0, 0.0, 0.0), state=SAFE, stops=3)
    assert not gone
    page.state((0.0, 0.0, 0.0), state=SAFE, stops=4)
    assert len(gone) == 1
    np.testing.assert_allclose(page.shown, 0.0)


@pytest.mark.parametrize('seed', range(5))
def test_what_is_sent_is_always_what_was_shown_but_for_the_slider_moved(page, seed):
    random = np.random.default_rng(seed)
    for _ in range(300):
        kind = random.integers(4)
        if kind == 0:
            page.state(
                random.uniform(0.0, 1.0, 3),
                random.choice([ACTIVE, ACTIVE, SAFE]),
                random.choice([PLANNER, OTHER, '']),
                random.uniform(0.1, 1.5),
            )
        elif kind == 1:
            page.sliders.forget_target()
        else:
            before, count = page.shown, len(page.sent)
            index, value = random.integers(3), round(random.uniform(0.0, 1.5), 3)
            page.hand(index, value)
            if len(page.sent) > count:
                before[index] = value * BAR
                np.testing.assert_allclose(page.sent[-1], before)
            np.testing.assert_allclose(page.shown, before)


def test_a_slider_that_is_held_during_somebody_elses_stop_sends_nothing_until_it_is_let_go(page):
    page.state([0.0, 0.0, 0.0])
    page.hand(0, 0.2)
    sent = len(page.sent)
    page.state([0.2, 0.0, 0.0], state=SAFE, owner='', stops=1)
    for bar in np.linspace(0.2, 0.8, 40):  # for longer than the pause
        page.now += 0.1
        page.hand(0, float(bar))
    assert len(page.sent) == sent and 'let go' in page.sliders._note.content
    page.now += LET_GO + 0.1
    page.hand(0, 0.3)
    assert len(page.sent) == sent + 1 and page.sliders._note.content == ''
