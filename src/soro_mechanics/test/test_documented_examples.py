# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The Python of the pages runs and does what stands beside it."""

from copy import deepcopy
from pathlib import Path
import re

import numpy as np
import pytest
import yaml

from soro_mechanics import load_robot, RobotFileError

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


def test_the_network_of_the_page_is_one(tmp_path):
    text = (ROOT / 'docs/network.md').read_text(encoding='utf-8')
    block = re.search(r'^```yaml\n(network:.*?)^```', text, re.MULTILINE | re.DOTALL).group(1)
    motor = {'name': 'motor_1', 'quantity': 'angle', 'minimum': '-10 deg', 'maximum': '10 deg',
             'rate': '10 deg/s'}  # fmt: skip
    whole = {
        'schema': 1, 'name': 'page', 'title': 'The network of the page',
        'gravity': '0 0 -9.81 m/s^2', 'actuators': [motor], 'models': ['network'],
        **yaml.safe_load(block),
    }  # fmt: skip
    file = tmp_path / 'page.yaml'
    file.write_text(yaml.safe_dump(whole))
    robot = load_robot(file)
    assert robot.forward([0.0]).status.converged


@pytest.mark.parametrize('model', ['ancf', 'constant_curvature'])
def test_the_section_of_a_model_has_every_key_of_its_page(tmp_path, model):
    text = (ROOT / f'docs/models/{model}.md').read_text(encoding='utf-8')
    block = re.search(rf'^```yaml\n({model}:.*?)^```', text, re.MULTILINE | re.DOTALL).group(1)
    air = {'quantity': 'pressure', 'minimum': '0 bar', 'maximum': '1 bar', 'rate': '1 bar/s'}
    whole = {
        'schema': 1, 'name': 'page', 'title': 'The section of the page',
        'gravity': '0 0 -9.81 m/s^2', 'models': [model],
        'actuators': [{'name': f'air_{i}', **air} for i in range(3)], **yaml.safe_load(block),
    }  # fmt: skip
    file = tmp_path / 'page.yaml'
    file.write_text(yaml.safe_dump(whole))
    assert load_robot(file).forward([2e4, 0.0, 0.0]).status.converged
    with_nonsense = {**whole, model: {**whole[model], 'nonsense': 1}}
    file.write_text(yaml.safe_dump(with_nonsense))
    with pytest.raises(RobotFileError) as refused:
        load_robot(file)
    known = refused.value.remedy.partition('one of ')[2].partition(';')[0].split(', ')
    assert set(known) == set(whole[model])


def test_every_page_of_a_robot_begins_with_its_robot():
    for file in sorted((ROOT / 'config/robots').glob('*.yaml')):
        page = ROOT / 'docs/robots' / f'{file.stem.removesuffix("_two_segment")}.md'
        text = page.read_text(encoding='utf-8')
        assert file.stem in text.splitlines()[0]
        assert re.search(r'!\[[^]]+\]\(\.\./img/', text), f'{page.name}: no picture'
        for heading in ('## What the paper', '## What runs here', '## On the bench'):
            assert heading in text, f'{page.name}: {heading}'
