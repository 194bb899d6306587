# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The picture beside a demo's report: what the page shows, and what is said without a picture."""

from __future__ import annotations

import json
from pathlib import Path

import photograph_demo
import pytest

from soro_cli.view_session import shown_recording
from soro_rigs.page_client import PageClient
from soro_rigs.page_driver import Page

BAG = Path(__file__).parents[2] / 'src/soro_cli/test/bags_of_revision_1/stiff_flop'


class FakePage(Page):
    """A page without a browser, which draws at once; its picture is what the viewer sends."""

    asked: tuple[str, ...] = ('http://127.0.0.1/', 'ws://localhost:1/', 'data:,x', 'file:///x')
    said: tuple[str, ...] = ()

    def __init__(self, browser, address, size):
        assert browser == 'chromium'
        self.requests, self.problems = list(self.asked), list(self.said)
        self._client = PageClient(address)

    def close(self):
        self._client.__exit__()

    def evaluate(self, script):
        return 99

    def pause(self, seconds):
        pass

    def picture(self, file):
        page = self._client
        page.wait(lambda: '/tip' in page.scene and 'time [s]' in page.gui, 10.0, 'robot')
        time = page.gui['time [s]']
        file.write_text(json.dumps([page.gui['play']['value'], time['value'] / time['max']]))


@pytest.fixture
def demo(tmp_path, monkeypatch):
    """The folder of a demo, with the picture of an earlier one, and a browser."""
    monkeypatch.setattr('photograph_demo.find_browser', lambda: 'chromium')
    monkeypatch.setattr('photograph_demo.Page', FakePage)
    monkeypatch.setattr(  # the robot file of this old recording is of another schema
        'photograph_demo.shown_recording',
        lambda bag, space, _, port: shown_recording(bag, space, 'stiff_flop', port),
    )
    (tmp_path / 'bag').symlink_to(BAG)
    (tmp_path / 'viewer.png').write_bytes(b'of an earlier demo')
    return tmp_path


def photograph(folder):
    """Call it as `make demo` does; returns the picture's file."""
    words = ['stiff_flop', '--no-experiment', '--json', '--output', str(folder)]
    assert photograph_demo.main(words) == 0
    return folder / 'viewer.png'


def test_the_middle_of_the_recording_is_shown_and_stands_still(demo, capsys):
    playing, share = json.loads(photograph(demo).read_text())
    assert not playing and share == pytest.approx(0.5, abs=0.01)
    said = capsys.readouterr()
    picture, robot = said.err.splitlines()
    assert said.out == '' and str(demo / 'viewer.png') in picture and '--robot' in robot


@pytest.mark.parametrize(
    ('kind', 'what'), [('asked', 'https://fonts.example/x'), ('said', 'a script is broken')]
)
def test_a_page_that_asks_another_machine_or_complains_is_no_picture(
    demo, monkeypatch, capsys, kind, what
):
    monkeypatch.setattr(FakePage, kind, (what,))
    assert not photograph(demo).exists()
    assert what in capsys.readouterr().err


def test_a_browser_that_ends_at_once_is_told(demo, monkeypatch, capsys):
    monkeypatch.setattr('photograph_demo.find_browser', lambda: '/bin/false')
    monkeypatch.setattr('photograph_demo.Page', Page)
    assert not photograph(demo).exists()
    assert 'the browser ended with 1' in capsys.readouterr().err


def test_a_demo_that_has_recorded_nothing_is_told(demo, capsys):
    (demo / 'bag').unlink()
    assert not photograph(demo).exists()
    assert str(demo / 'bag') in capsys.readouterr().err


def test_without_a_browser_it_is_said_how_to_get_one(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv('PATH', str(tmp_path))
    (tmp_path / 'viewer.png').write_bytes(b'of an earlier demo')
    assert not photograph(tmp_path).exists()
    assert 'apt-get install chromium' in capsys.readouterr().err
