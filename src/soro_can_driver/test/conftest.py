# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Fixtures: the board that any device finds, locks in a folder of the test."""

from __future__ import annotations

import tempfile

from board_on_a_link import BoardLink
import pytest

from soro_driver import can_bus


@pytest.fixture
def board(tmp_path, monkeypatch):
    """Return the class of the links: what is set there holds for the board behind them all."""

    class Link(BoardLink):
        pass

    monkeypatch.setattr(tempfile, 'tempdir', str(tmp_path))
    monkeypatch.setattr(can_bus, 'PythonCanLink', Link)
    monkeypatch.setattr(can_bus, 'SocketcandLink', Link)
    return Link
