# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Recordings of the first revision of the messages stay readable, one of every robot.

Recorded with it (some seconds, thinned out), not written by today's definitions. Their robot files
are of another schema, so the file of today is named.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from soro_cli.view_session import shown_recording
from soro_recording.bag_reader import BagReader
from soro_rigs.page_client import PageClient

BAGS = sorted(Path(__file__).with_name('bags_of_revision_1').iterdir())
ROBOTS = {
    'haptic_5dof',
    'pam_continuum',
    'soft_parallel',
    'spatial_cc',
    'stewart_gough',
    'stiff_flop',
    'stiff_flop_two_segment',
}
PAINTED = ('haptic_5dof', 'pam_continuum')  # what matplotlib does is the same with every bag
named = pytest.mark.parametrize('bag', BAGS, ids=lambda b: b.name)


def test_every_robot_was_recorded():
    assert {b.name for b in BAGS} == ROBOTS


@named
def test_every_message_is_decoded_as_it_was_written(bag):
    with BagReader(bag) as reader:
        assert (reader.revision, reader.unreadable(), reader.notes) == (1, [], [])
        for entry in reader.messages():
            message = entry.message
            if entry.topic.endswith('/actuator_state'):
                assert len(message.name) == len(message.measured) > 0
                assert not hasattr(message, 'effort'), 'decoded by the definition of today'
        assert reader.count > 50


@named
def test_it_is_listed_and_drawn(bag, soro, request):
    if bag.name not in PAINTED:
        request.getfixturevalue('unpainted')
    listed = soro('info', str(bag), '--json')
    assert json.loads(listed.stdout)['message_revision'] == 1
    plot = ('plot', str(bag), '-o', 'figures', '--json')
    refused = soro(*plot)
    assert refused.returncode == 1 and 'schema = 1: this version reads schema 2' in refused.stderr
    assert '--robot FILE' in refused.stderr
    drawn = soro(*plot, '--robot', bag.name)
    assert drawn.returncode == 0, drawn.stderr
    names = {Path(f).name for f in json.loads(drawn.stdout)['files']}
    assert {'actuation.png', 'tip.png', 'shape.png', 'player.html'} <= names


@named
def test_it_is_seen_on_a_page(bag):
    with shown_recording(bag, None, bag.name, 0) as playback:
        playback.step(0.0)
        with PageClient(playback.address) as page:
            page.wait(lambda: '/tip' in page.scene and 'time [s]' in page.gui, 20.0, 'robot')
