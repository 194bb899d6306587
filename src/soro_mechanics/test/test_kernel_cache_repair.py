# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Broken files in the cache of compiled kernels cost a compilation and a line, never a program."""

from pathlib import Path
import pickle
import subprocess
import sys

from forked_programs import ForkedPrograms, own_cache
import numba
import pytest

PROGRAM = """
import small_kernels
print(small_kernels.twice(21.0))
"""
KERNELS = """
from soro_mechanics.compilation.kernels import kernel

@kernel
def twice(x):
    return x + x
"""


class Program:
    """A program with one kernel of its own, and its cache."""

    def __init__(self, folder: Path, programs: ForkedPrograms) -> None:
        self.folder, self._programs = folder, programs
        (folder / 'small_kernels.py').write_text(KERNELS)

    def start(self) -> str:
        """Run it in a process that imports everything anew; return what it said."""
        done = subprocess.run(
            [sys.executable, '-c', PROGRAM],
            capture_output=True,
            text=True,
            check=False,
            env=own_cache(self.folder),
        )
        assert (done.returncode, done.stdout) == (0, '42.0\n'), done.stderr
        return done.stderr

    def run(self) -> str:
        """Run it; return what it said beside its result."""
        said, errors = self._programs.run(PROGRAM, self.folder)
        assert said == '42.0\n', errors
        return errors

    def files(self, kind: str) -> list[Path]:
        """Return the files of the cache."""
        return sorted((self.folder / 'cache').rglob(f'*.{kind}'))


@pytest.fixture(scope='module')
def programs():
    with ForkedPrograms() as made:
        yield made


@pytest.fixture(scope='module')
def program(tmp_path_factory, programs):
    made = Program(tmp_path_factory.mktemp('program'), programs)
    assert made.run() == ''
    return made


def other_version(data: bytes) -> bytes:
    return pickle.dumps('0.1') + data[len(pickle.dumps(numba.__version__)) :]


BREAKS = {
    'empty': lambda data: b'',
    'half': lambda data: data[: len(data) // 2],
    'zeros': lambda data: bytes(len(data)),
    'other bytes': lambda data: b'\x80\x04nonsense' + data[10:],
    'another pickle': lambda data: pickle.dumps(3),
}


@pytest.mark.parametrize('kind', ['nbi', 'nbc'])
@pytest.mark.parametrize('how', BREAKS)
def test_a_broken_file_is_dropped_and_said_once(program, kind, how):
    (file,) = program.files(kind)
    broken = BREAKS[how](file.read_bytes())
    file.write_bytes(broken)
    said = program.run()
    # An index of another version is none for Numba, and no damage.
    if not (kind == 'nbi' and how == 'another pickle'):
        assert said.count('\n') == 1 and 'are damaged' in said and 'compiled again' in said
    assert file.read_bytes() != broken


def test_after_all_that_they_are_mended(program):
    assert program.run() == ''


def test_a_program_that_imports_everything_anew_drops_them_too(program):
    (file,) = program.files('nbc')
    file.write_bytes(b'')
    said = program.start()
    assert said.count('\n') == 1 and 'are damaged' in said
    assert program.start() == ''


def test_caches_of_other_versions_and_processors_are_left_alone(program):
    (index,) = program.files('nbi')
    index.write_bytes(other_version(index.read_bytes()))
    assert program.run() == ''
    assert program.run() == ''


def test_a_cache_that_cannot_be_written_is_no_end(programs, tmp_path):
    made = Program(tmp_path, programs)
    made.run()
    (index,), (data,) = made.files('nbi'), made.files('nbc')
    index.unlink()
    data.unlink()
    data.mkdir()  # nobody can write the file there, root neither
    said = made.run()
    assert 'cannot be kept' in said and said.count('\n') == 1
