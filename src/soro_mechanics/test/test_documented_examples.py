# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The Python of the pages runs and does what stands beside it."""

from copy import deepcopy
from pathlib import Path
import re

import numpy as np
import pytest
import yaml

from soro_mechanics import load_robot
from soro_mechanics.robot import Robot
from soro_mechanics.robot_file.reader import describe_robot
from soro_mechanics.robot_file.schema2 import tables

ROOT = Path(__file__).resolve().parents[3]
# They need a robot that runs, a recording, a file of their own, and have a test of their own.
ELSEWHERE = {'own_controller.md', 'recording.md', 'describe_your_own_robot.md'}
PAGES = (
    'README.md',
    'src/soro_mechanics/README.md',
    *(
        p.relative_to(ROOT).as_posix()
        for p in sorted((ROOT / 'docs').rglob('*.md'))
        if p.name not in ELSEWHERE and 'evidence' not in p.parts
    ),
)
# What a page leaves to the reader.
GIVEN = {
    'docs/architecture.md': {
        'actuation': [0.5e5, 0.0, 0.0],
        'target': [-0.008, 0.003, 0.046],
        'samples': 50,
        'executor': None,
    },
    'docs/models/haptics.md': {'encoder': np.zeros(6), 'sensor': np.zeros(6)},
}
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
        exec(compile(block, page, 'exec'), names)  # noqa: S102 - the project's own pages
    for name in ('q', 's'):
        if name in names:
            assert names[name].status.converged, (page, name, names[name].status)


def own_robot():
    """Return the YAML blocks of the page about robots of one's own, parsed."""
    text = (ROOT / 'docs/describe_your_own_robot.md').read_text(encoding='utf-8')
    return re.findall(r'^```yaml\n(.*?)^```', text, re.MULTILINE | re.DOTALL)


def test_the_whole_robot_of_the_page_works(tmp_path, monkeypatch):
    text = own_robot()[0]
    (tmp_path / 'my_robot.yaml').write_text(text)
    monkeypatch.chdir(tmp_path)
    robot = load_robot('my_robot.yaml')
    bent = robot.forward([0.5e5, 0.0, 0.0])
    assert bent.status.converged and bent.tip[0, 3] < -5e-3  # away from the chamber
    back = robot.inverse(bent.tip[:3, 3])
    np.testing.assert_allclose(back.configuration.tip[:3, 3], bent.tip[:3, 3], atol=1e-5)
    example = '\n'.join(examples('docs/describe_your_own_robot.md'))
    exec(compile(example, 'page', 'exec'), {})  # noqa: S102 - the project's own page


def test_the_pieces_of_the_page_make_a_robot(tmp_path):
    whole = yaml.safe_load(own_robot()[0])
    for text in own_robot()[1:]:
        if not text.startswith(' '):  # not the inside of a list
            whole.update(yaml.safe_load(text))
    first = whole['drives'][0]
    whole['drives'] = [{**first, 'name': f'pair_{i}'} for i in (1, 2, 3)]
    last = deepcopy(whole['body']['segments'][-1])
    del last['link'], last['link_mass']
    whole['body']['segments'].append({**last, 'name': 'segment_2'})
    file = tmp_path / 'pieces.yaml'
    file.write_text(yaml.safe_dump(whole, sort_keys=False))
    robot = load_robot(str(file))
    assert robot.forward([0.3e5, 0.0, 0.0]).status.converged
    assert len(robot.violations([1.5e5, 1.5e5, 0.0])) > 0


def body_of(page, block=0):
    """Return a whole robot file from the piece that a page shows."""
    text = (ROOT / page).read_text(encoding='utf-8')
    found = re.findall(r'^```yaml\n(body:.*?)^```', text, re.MULTILINE | re.DOTALL)
    return {
        'schema': 2,
        'name': 'page',
        'title': 'The body of the page',
        'gravity': '0 0 -9.81 m/s^2',
        **yaml.safe_load(found[block]),
    }


def test_the_network_of_the_page_is_one():
    robot = Robot(describe_robot(body_of('docs/network.md'), 'network.md'))
    assert robot.forward([0.0]).status.converged


def test_the_tendons_of_the_page_pull():
    piece = body_of('docs/network.md', 1)
    rod = {
        'name': 'arm',
        'section': 'spine',
        'length': '150 mm',
        'from': {'body': 'ground'},
        'to': {'body': 'end'},
    }
    spine = {'shape': 'circle', 'radius': '1 mm', 'young': '60 GPa', 'poisson': 0.3}
    piece['body'] |= {
        'kind': 'rods',
        'sections': {'spine': spine},
        'bodies': {'end': {}},
        'rods': [rod],
        'tip': {'body': 'end'},
    }
    robot = Robot(describe_robot({**piece, 'models': {'network': {}}}, 'network.md'))
    assert robot.forward([2.0, 0.0]).status.converged


@pytest.mark.parametrize('model', ['ancf', 'constant_curvature'])
def test_the_page_of_a_model_has_every_key_of_it(model):
    whole = body_of(f'docs/models/{model}.md')
    if 'drives' not in whole:
        air = {'quantity': 'pressure', 'minimum': '0 bar', 'maximum': '1 bar', 'rate': '1 bar/s'}
        whole['drives'] = [{'name': f'air_{i}', **air} for i in (1, 2, 3)]
    description = describe_robot(whole, 'page.md')
    assert Robot(description, model).forward([2e4, 0.0, 0.0]).status.converged
    assert set(whole['models'][model]) == set(tables.MODEL[model])
    # Where the model takes from: all of it stands on the page.
    taken = [place for part, place in description.paths.items() if part.startswith(f'{model}.')]
    assert {place.rpartition('.')[2] for place in taken} <= keys(whole)


def keys(node):
    if isinstance(node, dict):
        return {*node, *(key for child in node.values() for key in keys(child))}
    return {k for child in node for k in keys(child)} if isinstance(node, list) else set()


def test_every_page_of_a_robot_begins_with_its_robot():
    for file in sorted((ROOT / 'config/robots').glob('*.yaml')):
        page = ROOT / 'docs/robots' / f'{file.stem.removesuffix("_two_segment")}.md'
        text = page.read_text(encoding='utf-8')
        assert file.stem in text.splitlines()[0]
        assert re.search(r'!\[[^]]+\]\(\.\./img/', text), f'{page.name}: no picture'
        for heading in ('## What the paper', '## What runs here', '## On the bench'):
            assert heading in text, f'{page.name}: {heading}'
