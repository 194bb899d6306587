# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Packages made for launch tests: their executables write down how they were started."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
import json
import os
from pathlib import Path
import re
import shutil
import sys

import yaml

CASES = Path(__file__).parent / 'launch_cases'
LAUNCH_FILES = Path(__file__).parents[3] / 'launch'
PACKAGE = 'probe_package'
# What the launch files of this workspace start, and parameter files that do not change.
ROBOT_PACKAGES = {
    'soro_emulation': 'emulator',
    'soro_driver': 'driver',
    'soro_kinematics': 'kinematics_solver',
    'soro_compliance': 'compliance',
    'soro_trajectory': 'trajectory_planner',
    'soro_haptics': 'haptic_renderer',
    'soro_flex_calibration': 'flex_calibration',
    'soro_visualization': 'visualization',
    'soro_recording': 'recorder',
}
WATCHED = ('PROBE_COLOUR', 'PROBE_OWN', 'PROBE_PREFIX')
_PROBE = """\
#!{python}
import json, os, select, sys
record = {{'command': sys.argv}}
record['environment'] = {{k: os.environ[k] for k in {watched} if k in os.environ}}
record['files'] = [open(f).read() for o, f in zip(sys.argv, sys.argv[1:]) if o == '--params-file']
path = os.path.join({folder!r}, str(os.getpid()))
with open(path + '.part', 'w') as file:
    json.dump(record, file)
os.rename(path + '.part', path + '.json')
for _ in range(1000):  # nobody leaves before all have come: one of them may end the launch
    if sum(n.endswith('.json') for n in os.listdir({folder!r})) >= int(os.environ['PROBES']):
        break
    select.select([], [], [], 0.02)
"""


def install_probe_packages(folder: Path, check: Path | None = None) -> Path:
    """Install the packages into a folder and return the prefix.

    Parameters
    ----------
    folder : path
    check : path, optional
        The real program that checks arguments; without it one that agrees to everything.
    """
    prefix = folder / 'prefix'
    (folder / 'records').mkdir()
    for package in (PACKAGE, *ROBOT_PACKAGES, 'soro_bringup', 'soro_description'):
        index = prefix / 'share' / 'ament_index' / 'resource_index' / 'packages' / package
        index.parent.mkdir(parents=True, exist_ok=True)
        index.touch()
        (prefix / 'share' / package).mkdir()
    shutil.copytree(CASES / 'share', prefix / 'share' / PACKAGE, dirs_exist_ok=True)
    nodes = prefix / 'share' / 'soro_bringup' / 'config' / 'nodes'
    nodes.mkdir(parents=True)
    for package, name in ((PACKAGE, 'probe'), *ROBOT_PACKAGES.items()):
        (nodes / f'{name}.yaml').write_text(f'/**/{name}: {{ros__parameters: {{rate: 1.0}}}}\n')
        _install_probe(prefix / 'lib' / package / name, folder / 'records')
    if check is None:  # some cases name robots that are nowhere
        _install_script(prefix / 'lib' / 'soro_driver' / 'check_launch', '#!/bin/sh\n')
    else:
        (prefix / 'lib' / 'soro_driver' / 'check_launch').symlink_to(check)
    return prefix


def _install_probe(path: Path, records: Path) -> None:
    path.parent.mkdir(parents=True)
    text = _PROBE.format(python=sys.executable, watched=WATCHED, folder=str(records))
    _install_script(path, text)


def _install_script(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def environment_with(prefix: Path) -> dict[str, str]:
    """Return this environment with the package in front and without PROBE_ variables."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith('PROBE_')}
    rest = kept.get('AMENT_PREFIX_PATH', '')
    kept['AMENT_PREFIX_PATH'] = f'{prefix}{os.pathsep}{rest}' if rest else str(prefix)
    return kept


def read_records(folder: Path) -> list[str]:
    """Return what the started probes wrote, each normalised, sorted."""
    found = [json.loads(f.read_text()) for f in (folder / 'records').glob('*.json')]
    return sorted(
        normalised(r['command'], r['files'], r['environment'], folder / 'prefix') for r in found
    )


def normalised(
    command: Iterable[str], files: Iterable[str], environment: Mapping[str, str], prefix: Path
) -> str:
    """Return one process as comparable text: no temporary names, parameter files by content."""
    words = list(command)
    content = iter(files)
    for i, word in enumerate(words[:-1]):
        if word == '--params-file':
            words[i + 1] = json.dumps(yaml.safe_load(next(content)), sort_keys=True)
    watched = [f'{k}={environment[k]}' for k in WATCHED if k in environment]
    text = ' '.join(json.dumps(w) if re.search(r'\s|^$', w) else w for w in [*watched, *words])
    return text.replace(str(prefix), '@PREFIX@').replace(str(CASES), '@CASES@')
