# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Tests that run beside each other do not hear each other."""

from pathlib import Path
import subprocess
import sys

from soro_rigs.domains import DOMAINS, free_domain, own_domain

SAY = 'from soro_rigs.domains import own_domain; print(own_domain(), flush=True); input()'


def test_no_two_processes_share_a_domain():
    mine = own_domain()
    others = [
        subprocess.Popen(
            [sys.executable, '-c', SAY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(5)
    ]
    try:
        with free_domain() as first, free_domain() as second:
            found = [mine, first, second, *(int(p.stdout.readline()) for p in others)]
    finally:
        for process in others:
            process.communicate('\n')
    assert own_domain() == mine
    assert len(set(found)) == len(found) and set(found) <= set(DOMAINS)


def test_whatever_sets_a_domain_takes_one_that_is_locked():
    root = Path(__file__).parents[2]
    files = [f for folder in ('studies', 'benchmarks') for f in (root / folder).rglob('*.py')]
    texts = {f: f.read_text(encoding='utf-8') for f in files if f != Path(__file__)}
    setters = {name for name, text in texts.items() if "'ROS_DOMAIN_ID'" in text}
    assert {'soak.py', 'stop_proof.py', 'bench_ros.py'} <= {f.name for f in setters}
    assert not [n for n in setters if 'from soro_rigs.domains import' not in texts[n]]
    assert not [name for name, text in texts.items() if "'--domain'" in text]
