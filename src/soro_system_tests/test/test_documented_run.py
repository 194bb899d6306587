# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What the pages tell a newcomer to type works, in their order, on a robot that was launched."""

from pathlib import Path
import re
import shlex
import sys

import pytest

DOCS = Path(__file__).resolve().parents[3] / 'docs'
SHELL = re.compile(r'^```sh\n(.*?)^```', re.MULTILINE | re.DOTALL)
TYPED = ('nice', '-n', '5')  # a verb that starts must not hold up the robot beside it
# The muscle robot and the haptic device take minutes for what their pages say.
ROBOTS = ('stiff_flop', 'soft_parallel', 'spatial_cc', 'stewart_gough')


def commands(page: str) -> list[list[str]]:
    """Return the `soro` commands of a page: of five minutes all, else those beside `make run`."""
    blocks = SHELL.findall((DOCS / page).read_text(encoding='utf-8'))
    chosen = [b for b in blocks if page == 'five_minutes.md' or 'make run' in b]
    lines = [line for block in chosen for line in block.splitlines()]
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith('soro ')]


def pages():
    """Yield the pages, each with the robot that it is about."""
    for name in ROBOTS:
        for page in ['five_minutes.md'] * (name == 'stiff_flop') + [f'robots/{name}.md']:
            yield pytest.param(page, marks=pytest.mark.robot(name), id=page)


@pytest.mark.timeout(600)
@pytest.mark.parametrize('page', list(pages()))
def test_the_commands_of_a_page_work_on_a_running_robot(page, running):
    typed = commands(page)
    assert {words[0] for words in typed} >= {'move'}
    for words in typed:
        done = running.ask([*TYPED, sys.executable, '-m', 'soro_cli.main', *words])
        assert done.stdout.strip(), f'soro {shlex.join(words)}\n{done.stderr}'
