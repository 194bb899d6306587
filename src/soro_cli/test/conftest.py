# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What tests of recordings share: one whose truth is known, and the command in this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from recorded_run import RecordedRun

from soro_cli.main import main
from soro_recording.bag_reader import _Types


@pytest.fixture(scope='session')
def recorded(tmp_path_factory) -> RecordedRun:
    return RecordedRun(tmp_path_factory.mktemp('bags') / 'run')


class Done(NamedTuple):
    """What a call of the command gave."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def soro(tmp_path, monkeypatch, capsys) -> Callable[..., Done]:
    """Call the command in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> Done:
        capsys.readouterr()
        code = main(words)
        return Done(code, *capsys.readouterr())

    return call


@pytest.fixture
def unpainted(monkeypatch) -> None:
    """Let figures be composed but not painted, where only what is said of them is asked."""
    paint = 'matplotlib.figure.Figure.savefig'
    monkeypatch.setattr(paint, lambda figure, path, **options: Path(path).touch())


@pytest.fixture
def alter(monkeypatch) -> Callable[[str, Callable[[Any], None]], None]:
    """Change every message of a type as it is read: another recording without writing one."""

    def install(kind: str, change: Callable[[Any], None]) -> None:
        def decode(types, schema, data, original=_Types.decode):
            message = original(types, schema, data)
            if schema.name.endswith(f'/{kind}'):
                change(message)
            return message

        monkeypatch.setattr(_Types, 'decode', decode)

    return install
