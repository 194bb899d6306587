# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What Numba is spared changes nothing that is computed, and fails here should Numba change."""

import os
import subprocess
import sys

import numpy as np
import pytest

from soro_mechanics.compilation.numba_start import load_numba

KERNELS = """
from soro_mechanics.compilation.kernels import kernel
@kernel
def inner(x):
    return 2.0 * x.sum()
@kernel
def outer(x):
    return inner(x) + 1.0
"""
LOAD = """
import numpy as np, kernels_of_a_test as k
from soro_mechanics.compilation.numba_start import load_numba
load_numba()
x = np.array([1.0, 2.5])
print(k.inner(x), sum(k.inner.stats.cache_hits.values()))
(found,) = k.inner.overloads.values()
print(found.library._shared_module is None)
"""
CALL = 'print(k.outer(x), sum(k.outer.stats.cache_hits.values()))'


def test_a_loaded_kernel_is_parsed_when_a_caller_is_compiled(tmp_path):
    (tmp_path / 'kernels_of_a_test.py').write_text(KERNELS)
    variables = {**os.environ, 'NUMBA_CACHE_DIR': str(tmp_path / 'cache')}
    variables['PYTHONPATH'] = f'{tmp_path}{os.pathsep}{variables.get("PYTHONPATH", "")}'

    def printed(program):
        command = [sys.executable, '-c', program]
        done = subprocess.run(
            command, env=variables, capture_output=True, text=True, timeout=200, check=True
        )
        return done.stdout.split()

    printed(LOAD)
    assert printed(LOAD + CALL) == ['7.0', '1', 'True', '8.0', '0']
    assert printed(LOAD + CALL) == ['7.0', '1', 'True', '8.0', '1']


def test_options_of_the_compiler_are_equal_where_their_values_are():
    load_numba()
    from numba.core.compiler import Flags

    def plain(flags):
        return {name: getattr(flags, name) for name in flags.options}

    explicit, implied, other = Flags(), Flags(), Flags()
    explicit.nrt = implied.nrt  # a default that is written down
    other.nrt = not implied.nrt
    assert explicit.values() == plain(explicit)
    assert explicit == implied and hash(explicit) == hash(implied)
    assert other.values() == plain(other)
    assert other != implied and other != 1
    assert other.copy() == other
    assert list(implied.values()) == list(Flags.options)


@pytest.mark.parametrize(('to', 'source'), [((2,), (3,)), ((2,), (2, 2)), ((2, 2), (1, 3))])
def test_a_slice_that_does_not_fit_is_an_error_of_a_kernel(to, source):
    load_numba()
    import numba

    @numba.njit
    def assign(a, b):
        a[:] = b
        return a

    with pytest.raises(ValueError):
        assign(np.zeros(to), np.zeros(source))
    fitting = np.arange(float(to[-1]))
    assert np.array_equal(assign(np.zeros(to), fitting), np.broadcast_to(fitting, to))
