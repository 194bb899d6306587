# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The Python of the pages runs and does what stands beside it."""

from pathlib import Path
import re

import numpy as np
import pytest

from soro_mechanics import load_robot

ROOT = Path(__file__).resolve().parents[3]
PAGES = (
    'README.md', 'docs/five_minutes.md', 'docs/architecture.md', 'docs/network.md',
    'docs/models/haptics.md', *(
        p.relative_to(ROOT).as_posix() for p in sorted((ROOT / 'docs/robots').glob('*.md'))
    ),
)  # fmt: skip
# What a page leaves to the reader.
GIVEN = {
    'docs/architecture.md': {
        'actuation': [0.5e5, 0.0, 0.0], 'target': [-0.008, 0.003, 0.046], 'samples': 50,
        'executor': None,
    },
    'docs/network.md': {
        'axes': np.eye(6)[:, :3], 'length': 0.4, 'actuation': np.full(6, 0.01),
        'wrench': [0.0, 0.0, -5.0, 0.0, 0.0, 0.0],
    },
    'docs/models/haptics.md': {'encoder': np.zeros(6), 'sensor': np.zeros(6)},
}  # fmt: skip
CLUSTER = 'dask'  # see test_workspace_cluster


def examples(page):
    """Return the Python blocks of a page, in order."""
    text = (ROOT / page).read_text(encoding='utf-8')
    blocks = re.findall(r'^```python\n(.*?)^```', text, re.MULTILINE | re.DOTALL)
    return [block for block in blocks if CLUSTER not in block]


@pytest.mark.parametrize('page', [page for page in PAGES if examples(page)])
def test_the_examples_of_a_page_run(page):
    names = dict(GIVEN.get(page, {}))
    for block in examples(page):
        kept = dict(names)
        if 'network.ports' in block:  # needs motors, which the robot of that page has not
            names['robot'] = load_robot('haptic_5dof')
            names['q'] = names['robot'].forward(np.zeros(6))
        exec(compile(block, page, 'exec'), names)  # noqa: S102 - the project's own pages
        if 'network.ports' in block:
            names = kept
    for name in ('q', 's'):
        if name in names:
            assert names[name].status.converged, (page, name, names[name].status)


def test_every_page_of_a_robot_begins_with_its_robot():
    for file in sorted((ROOT / 'config/robots').glob('*.yaml')):
        page = ROOT / 'docs/robots' / f'{file.stem.removesuffix("_two_segment")}.md'
        text = page.read_text(encoding='utf-8')
        assert file.stem in text.splitlines()[0]
        assert re.search(r'!\[[^]]+\]\(\.\./img/', text), f'{page.name}: no picture'
        for heading in ('## What the paper', '## What runs here', '## On the bench'):
            assert heading in text, f'{page.name}: {heading}'
