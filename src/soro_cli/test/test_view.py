# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""soro view: a recorded run on a page, over its websocket."""

from __future__ import annotations

import numpy as np
import pytest
from recorded_run import HOLD, PERIOD, RecordedRun

from soro_cli.view_session import shown_recording
from soro_node.user_errors import UserError
from soro_rigs.page_client import PageClient

POSTURES = 6


@pytest.fixture(scope='module')
def run(tmp_path_factory):
    return RecordedRun(tmp_path_factory.mktemp('bags') / 'run', POSTURES)


def tip(page):
    return np.array(page.scene['/tip']['position'])


def test_a_run_is_played_and_any_moment_can_be_gone_to(run):
    with shown_recording(run.folder, None, '', 0) as playback:
        playback.step(0.0)
        with PageClient(playback.address) as page:
            page.wait(lambda: '/tip' in page.scene and 'time [s]' in page.gui, 10.0, 'robot')
            # A recording can be looked at, not commanded.
            assert 'STOP' not in page.gui and '/target' not in page.scene
            length = page.gui['time [s]']['max']
            assert length == pytest.approx((POSTURES * HOLD - 1) * PERIOD * 1e-9, abs=1e-3)
            page.set('play', False)
            page.wait(lambda: not playback._playing, 5.0, 'pause')
            seen = []
            for posture in range(POSTURES):
                page.set('time [s]', posture * HOLD * PERIOD * 1e-9 + 0.05)
                page.receive(0.2)
                playback.step(0.1)
                page.receive(0.2)
                seen.append(tip(page))
            distances = np.linalg.norm(np.diff(seen, axis=0), axis=1)
            assert distances.min() > 1e-3  # every posture is another one
            page.set('time [s]', 0.05)
            page.receive(0.2)
            playback.step(0.1)
            page.receive(0.2)
            np.testing.assert_allclose(tip(page), seen[0], atol=1e-6)
            # The paths were recorded last: they are not there yet, and are there at the end.
            page.set('time [s]', length)
            page.receive(0.2)
            playback.step(0.1)
            page.wait(lambda: '/paths/desired' in page.scene, 5.0, 'path')


def test_it_begins_again_after_its_end_and_keeps_the_speed_chosen(run):
    with shown_recording(run.folder, 'arm', '', 0) as playback:
        for _ in range(3):
            playback.step(1.0)
        assert playback._at == pytest.approx(3.0)
        playback._speed = 10.0
        playback.step(1.0)
        assert playback._at == 0.0


@pytest.mark.parametrize(
    ('namespace', 'robot', 'words'),
    [('other', '', 'holds no robot under /other'), (None, 'nonsense', 'nonsense')],
)
def test_what_cannot_be_shown_is_said(run, namespace, robot, words):
    with pytest.raises(UserError, match=words), shown_recording(run.folder, namespace, robot, 0):
        pass


def test_a_missing_bag_is_said(tmp_path):
    with (
        pytest.raises(UserError, match='no recording'),
        shown_recording(tmp_path / 'none', None, '', 0),
    ):
        pass
