# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Every page is found from the index, every make target that is named exists."""

from pathlib import Path
import re

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


@pytest.mark.parametrize('page', [ROOT / 'README.md', *PAGES], ids=lambda p: p.name)
def test_every_make_target_that_is_named_exists(page):
    targets = set(re.findall(r'^([a-z-]+):', (ROOT / 'Makefile').read_text(), re.MULTILINE))
    assert set(MAKE.findall(page.read_text())) <= targets


def test_every_package_stands_in_the_architecture():
    text = (ROOT / 'docs/architecture.md').read_text()
    packages = {p.parent.name for p in (ROOT / 'src').glob('*/package.xml')}
    assert {p for p in packages if p not in text} == set()
