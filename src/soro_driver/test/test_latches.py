# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What a person has to end stays latched: who presses, and what a new driver finds in the file."""

import json

import pytest

from soro_driver.safety.latches import Latches, UNKNOWN
from soro_driver.safety.not_allowed import NotAllowed


@pytest.fixture
def file(tmp_path):
    return tmp_path / 'folder' / 'driver_estop.json'


def pressed(file, *senders):
    latches = Latches(file)
    for sender in senders:
        latches.press(sender)
    latches.save()
    return latches


def test_no_release_by_others_ends_a_press(file):
    latches = pressed(file, 'a', 'b')
    assert not latches.let_go('c') and not latches.let_go(UNKNOWN)
    assert latches.let_go('a')
    with pytest.raises(NotAllowed, match='still pressed'):
        latches.clear()
    assert latches.let_go('b')
    assert latches.estop  # until a person clears it
    latches.clear()
    assert not latches.estop and not file.exists()


def test_an_emergency_stop_outlives_the_driver(file):
    pressed(file, 'a')
    again = Latches(file)
    assert again.estop and again.pressed_by() == ['a'] and not again.note
    with pytest.raises(NotAllowed, match='still there presses'):
        again.forget(['a', 'b'])
    again.forget(['b'])
    again.clear()
    assert not Latches(file).estop


def test_one_that_was_released_and_not_cleared_is_latched_all_the_same(file):
    latches = pressed(file, 'a')
    latches.let_go('a')
    latches.save()
    again = Latches(file)
    assert again.estop and not again.pressed_by()


@pytest.mark.parametrize(
    'content',
    [b'', b'{', b'null', b'7', b'[]', b'{}', b'{"pressed_by": 3}', b'\xff\x00', b'[' * 100_000],
)
def test_a_file_that_cannot_be_understood_is_a_press(file, content):
    file.parent.mkdir()
    file.write_bytes(content)
    latches = Latches(file)
    assert latches.estop and latches.pressed_by() == [UNKNOWN] and str(file) in latches.note
    with pytest.raises(NotAllowed):
        latches.clear()
    latches.forget([])
    latches.clear()
    assert not file.exists()


def test_a_folder_in_its_place_and_a_file_in_the_folders_place(file, tmp_path):
    file.mkdir(parents=True)
    assert Latches(file).estop
    (tmp_path / 'plain').touch()
    latches = Latches(tmp_path / 'plain' / 'estop.json')
    assert not latches.estop
    latches.press('a')
    latches.save()
    assert latches.estop and 'would not know' in latches.note


def test_a_file_that_cannot_be_removed_is_said(file, monkeypatch):
    latches = pressed(file, 'a')
    latches.let_go('a')

    def refuse(self, missing_ok=False):
        raise PermissionError(13, 'not yours')

    monkeypatch.setattr(type(file), 'unlink', refuse)
    latches.clear()
    assert not latches.estop and 'not yours' in latches.note


def test_nothing_is_left_beside_the_file(file):
    for number in range(5):
        pressed(file, f'{number}')
    assert [f.name for f in file.parent.iterdir()] == [file.name]
    assert json.loads(file.read_text())['pressed_by'] == ['0', '1', '2', '3', '4']


def test_counts_of_two_drivers_differ():
    counts = {Latches().stops for _ in range(20)}
    assert len(counts) == 20 and max(counts) < 1 << 32
