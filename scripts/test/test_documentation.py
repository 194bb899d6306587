# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Every page is found from the index and on the site, every make target that is named exists."""

from fnmatch import fnmatch
from pathlib import Path
import re
import runpy
from types import SimpleNamespace

import house_rules
import pytest

ROOT = Path(__file__).resolve().parents[2]
INDEX = ROOT / 'docs/README.md'
PAGES = sorted((ROOT / 'docs').rglob('*.md'))
MAKE = re.compile(r'(?:^|`|&& )make ([a-z-]+)', re.MULTILINE)


def linked(page):
    """Return the pages that a page links."""
    targets = (target for target, _ in house_rules.LINK.findall(page.read_text()) if target)
    return {(page.parent / target).resolve() for target in targets}


def test_every_page_is_in_the_index():
    assert set(PAGES) - {INDEX} - linked(INDEX) == set()
    assert INDEX in linked(ROOT / 'README.md')


@pytest.fixture(scope='module')
def site():
    """Return the names in the configuration of the site, which Sphinx is not needed to read."""
    return runpy.run_path(str(ROOT / 'docs/conf.py'))


def test_every_page_is_once_in_the_side_bar(site):
    patterns = [pattern for pages in site['SECTIONS'].values() for pattern in pages]
    for page in [*PAGES, ROOT / 'CONTRIBUTING.md', ROOT / 'CHANGELOG.md']:
        name = page.relative_to(ROOT).with_suffix('').as_posix()
        found = [pattern for pattern in patterns if fnmatch(name, pattern)]
        assert len(found) == 1, (name, found)
    named = [p for p in patterns if not re.search(r'\*|/api/', p)]
    assert all((ROOT / f'{name}.md').is_file() for name in named)


def test_what_a_page_links_outside_of_the_site_is_named_there(site):
    app = SimpleNamespace(env=SimpleNamespace(found_docs={'README', 'docs/README', 'docs/cli'}))
    source = [
        '[a](cli.md#x) [b](../README.md) [c](../src/soro_msgs/msg) [d](../LICENSE) [e](gone.md)\n'
        '[f](https://example.org) ![g](../CITATION.cff) [h](evidence/stops/can.json) [i](#here)'
    ]
    was = source[0]
    site['finish_page'](app, 'docs/README', source)
    expected = was.replace('[c](../src/soro_msgs/msg)', 'c (`src/soro_msgs/msg`)')
    assert source[0] == expected.replace('[d](../LICENSE)', 'd (`LICENSE`)')
    front = ['# soro\n']
    site['finish_page'](app, 'README', front)
    assert front[0].count('{toctree}') == len(site['SECTIONS'])


@pytest.mark.parametrize('page', [ROOT / 'README.md', *PAGES], ids=lambda p: p.name)
def test_every_make_target_that_is_named_exists(page):
    targets = set(re.findall(r'^([a-z-]+):', (ROOT / 'Makefile').read_text(), re.MULTILINE))
    assert set(MAKE.findall(page.read_text())) <= targets


def test_every_package_stands_in_the_architecture():
    text = (ROOT / 'docs/architecture.md').read_text()
    packages = {p.parent.name for p in (ROOT / 'src').glob('*/package.xml')}
    assert {p for p in packages if p not in text} == set()
