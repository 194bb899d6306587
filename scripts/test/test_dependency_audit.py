# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The audit notices what is not as it is written down."""

from importlib import metadata
from pathlib import Path
import shutil
import sys

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import dependency_audit  # noqa: E402
from project_files import tree  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """Return a copy of lock files and table that the audit looks at instead."""
    shutil.copytree(ROOT / 'requirements', tmp_path / 'requirements')
    (tmp_path / 'docs').mkdir()
    shutil.copy(ROOT / 'docs/evidence/dependencies.md', tmp_path / 'docs')
    monkeypatch.setattr(dependency_audit, 'TABLE', tmp_path / 'docs' / 'dependencies.md')
    monkeypatch.setattr(dependency_audit, 'SITE', tmp_path / '.venv-docs')
    files = tree()
    monkeypatch.setattr(dependency_audit, '_imported', lambda _: IMPORTED)
    IMPORTED.update(IMPORTED or dependency_audit_imports(files))
    monkeypatch.setattr(dependency_audit, 'ROOT', tmp_path)
    return tmp_path


IMPORTED: dict[str, str] = {}
dependency_audit_imports = dependency_audit._imported


def complaints() -> str:
    return '\n'.join(dependency_audit.check([]))


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert text.count(old) == 1
    file.write_text(text.replace(old, new))


def test_as_it_stands_nothing_is_found(copy):
    assert complaints() == ''


def test_another_version_a_missing_and_an_unlocked_package_are_found(copy):
    here = metadata.version('pyserial')
    change(copy / 'requirements' / 'python.txt', f'pyserial=={here}', 'pyserial==0.1\nno-such==1')
    found = complaints()
    assert f'pyserial==0.1 is locked, {here} is installed' in found
    assert 'no-such==1 is locked, but not installed' in found
    change(copy / 'requirements' / 'python.txt', 'pyserial==0.1\n', '')
    assert 'pyserial is installed, but not locked' in complaints()


def test_a_package_that_nothing_uses_is_found(copy, monkeypatch):
    without = {k: v for k, v in IMPORTED.items() if k != 'cantools'}
    monkeypatch.setattr(dependency_audit, '_imported', lambda _: without)
    assert 'nothing here uses cantools' in complaints()


def test_an_unknown_licence_and_an_old_table_are_found(copy, monkeypatch):
    change(copy / 'docs' / 'dependencies.md', '| viser | MIT |', '| viser | BSD |')
    assert 'the row of viser is old' in complaints()
    monkeypatch.setattr(dependency_audit, 'ACCEPTED', dependency_audit.ACCEPTED - {'MPL-2.0'})
    assert "licence of certifi, 'MPL-2.0', is to be looked at" in complaints()


def test_the_environment_of_the_site_is_looked_at_where_there_is_one(copy):
    lock = dependency_audit._read_lock(copy / 'requirements' / 'docs.txt')
    for name, (version, _) in lock.items():
        folder = copy / f'.venv-docs/lib/python3/site-packages/{name}-{version}.dist-info'
        folder.mkdir(parents=True)
        needs = ''.join(f'Requires-Dist: {n}\n' for n in lock if name == 'sphinx' and n != name)
        text = f'Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}'
        (folder / 'METADATA').write_text(text + 'License-Expression: GPL-3.0-only\n')
    found = complaints()
    assert "licence of furo, 'GPL-3.0-only', is to be looked at" in found
    assert 'docs.txt: nothing' not in found and 'is locked, not' not in found
    change(copy / 'requirements' / 'docs.txt', f'furo=={lock["furo"][0]}', 'furo==0.1\nno-such==1')
    found = complaints()
    assert 'furo==0.1 is locked, not installed' in found
    assert 'no-such is not both locked and installed' in found


def test_hashes_are_all_or_none(copy):
    change(copy / 'requirements' / 'python.txt', 'viser==1.1.1', 'viser==1.1.1 --hash=sha256:00')
    assert 'lines without a hash' in complaints()
