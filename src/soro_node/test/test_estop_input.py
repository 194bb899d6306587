# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What three subscriptions hear of one publisher, in whatever order, loses no press."""

import itertools

import pytest
from std_msgs.msg import Bool

from soro_node.inputs.estop_input import EstopInput

GID = {'data': list(range(24))}


class Heard(EstopInput):
    """Without subscriptions: the test takes."""

    def __init__(self):
        self.calls = []
        super().__init__(None, lambda pressed, sender: self.calls.append(pressed))

    def open(self):
        pass

    def take(self, number, pressed):
        information = {'publisher_gid': GID, 'publication_sequence_number': number}
        self._take(Bool(data=pressed), information)


STORY = ((1, False), (2, True), (3, False))  # a button that is pressed for a moment


@pytest.mark.parametrize('lost', range(1, 4))
def test_a_press_that_one_subscription_has_lost_is_heard_by_another(lost):
    for order in set(itertools.permutations('AAABBB')):
        heard, ways = Heard(), {'A': [m for m in STORY if m[0] != lost], 'B': list(STORY)}
        for way in order:
            if ways[way]:
                heard.take(*ways[way].pop(0))
        assert True in heard.calls, order
        assert heard.calls[-1] is False, order  # it is over, whoever was late


def test_a_press_that_goes_on_stays():
    heard = Heard()
    for number, pressed in ((1, False), (2, True), (1, False), (2, True)):
        heard.take(number, pressed)
    assert heard.calls[-1] is True and heard.calls.count(False) == 1


def test_senders_without_a_name_are_all_heard():
    heard = Heard()
    for pressed in (True, False, True):
        heard._take(Bool(data=pressed), {})
    assert heard.calls == [True, False, True]
