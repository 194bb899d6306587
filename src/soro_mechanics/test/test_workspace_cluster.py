# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The documented use of a cluster, on a cluster of two processes."""

from pathlib import Path
import re

from dask.distributed import LocalCluster
import numpy as np

from soro_mechanics.robot import load_robot

PAGE = Path(__file__).resolve().parents[3] / 'docs' / 'robots' / 'soft_parallel.md'


def examples():
    return re.findall(r'```python\n(.*?)```', PAGE.read_text(encoding='utf-8'), re.DOTALL)


def test_the_documented_example_runs_on_a_cluster():
    (example,) = [block for block in examples() if 'dask' in block]
    names: dict = {}
    with LocalCluster(
        n_workers=2, threads_per_worker=1, host='127.0.0.1', dashboard_address=None
    ) as cluster:
        own = example.replace('tcp://scheduler:8786', cluster.scheduler_address)
        assert own != example
        exec(compile(own, str(PAGE), 'exec'), names)  # noqa: S102 - the project's own page
    shipped = names['workspace']
    assert shipped.solved.all() and len(shipped.solved) == 500
    here = load_robot('soft_parallel').workspace(shipped.actuation[:128])
    np.testing.assert_allclose(shipped.tip[:128], here.tip, atol=1e-9)


def test_the_first_example_of_the_page_runs():
    names: dict = {}
    exec(compile(examples()[0], str(PAGE), 'exec'), names)  # noqa: S102
    assert names['s'].status.converged and names['q'].status.converged
