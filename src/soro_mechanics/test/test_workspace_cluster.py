# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The documented use of a cluster, with a stand-in that ships work as a cluster does: pickled."""

from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
import pickle
import re
import sys
import types

import numpy as np

from soro_mechanics.robot import load_robot

PAGE = Path(__file__).resolve().parents[3] / 'docs' / 'robots' / 'soft_parallel.md'


class Shipping(Executor):
    """Every task and every result crosses a wire."""

    def __init__(self):
        self.tasks = 0
        self._pool = ThreadPoolExecutor(2)

    def submit(self, fn, /, *args, **kwargs) -> Future:
        self.tasks += 1
        parcel = pickle.dumps((fn, args, kwargs))
        return self._pool.submit(self._work, parcel)

    @staticmethod
    def _work(parcel):
        fn, args, kwargs = pickle.loads(parcel)  # noqa: S301 - our own
        return pickle.loads(pickle.dumps(fn(*args, **kwargs)))  # noqa: S301

    def shutdown(self, wait=True, *, cancel_futures=False):
        self._pool.shutdown(wait, cancel_futures=cancel_futures)


def cluster(monkeypatch, executor):
    """Put a module in the place of dask.distributed."""

    class Client:
        def __init__(self, address):
            assert address.startswith('tcp://')

        def __enter__(self):
            return self

        def __exit__(self, *details):
            executor.shutdown()

        def get_executor(self):
            return executor

    package, module = types.ModuleType('dask'), types.ModuleType('dask.distributed')
    module.Client = Client
    monkeypatch.setitem(sys.modules, 'dask', package)
    monkeypatch.setitem(sys.modules, 'dask.distributed', module)


def test_the_documented_example_runs(monkeypatch, capsys):
    blocks = re.findall(r'```python\n(.*?)```', PAGE.read_text(encoding='utf-8'), re.DOTALL)
    (example,) = [block for block in blocks if 'dask' in block]
    executor = Shipping()
    cluster(monkeypatch, executor)
    names: dict = {}
    exec(compile(example, str(PAGE), 'exec'), names)  # noqa: S102 - the project's own page
    assert executor.tasks > 10
    shipped = names['workspace']
    assert shipped.solved.all() and '2000' in capsys.readouterr().out
    here = load_robot('soft_parallel').workspace(shipped.actuation[:128])
    np.testing.assert_allclose(shipped.tip[:128], here.tip, atol=1e-9)


def test_the_first_example_of_the_page_runs():
    blocks = re.findall(r'```python\n(.*?)```', PAGE.read_text(encoding='utf-8'), re.DOTALL)
    names: dict = {}
    exec(compile(blocks[0], str(PAGE), 'exec'), names)  # noqa: S102
    assert names['s'].status.converged and names['q'].status.converged
