# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A package made for launch tests: its one executable writes down how it was started."""

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
PACKAGE = 'probe_package'
WATCHED = ('PROBE_COLOUR', 'PROBE_OWN', 'PROBE_PREFIX')
_PROBE = """\
#!{python}
import json, os, sys
record = {{'command': sys.argv}}
record['environment'] = {{k: os.environ[k] for k in {watched} if k in os.environ}}
record['files'] = [open(f).read() for o, f in zip(sys.argv, sys.argv[1:]) if o == '--params-file']
with open(os.path.join({folder!r}, str(os.getpid()) + '.json'), 'w') as file:
    json.dump(record, file)
"""


def install_probe_package(folder: Path) -> Path:
    """Install the package into a folder and return the prefix."""
    prefix = folder / 'prefix'
    records = folder / 'records'
    records.mkdir()
    share = prefix / 'share' / PACKAGE
    shutil.copytree(CASES / 'share', share)
    index = prefix / 'share' / 'ament_index' / 'resource_index' / 'packages'
    index.mkdir(parents=True)
    (index / PACKAGE).touch()
    executable = prefix / 'lib' / PACKAGE / 'probe'
    executable.parent.mkdir(parents=True)
    executable.write_text(
        _PROBE.format(python=sys.executable, watched=WATCHED, folder=str(records))
    )
    executable.chmod(0o755)
    return prefix


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
