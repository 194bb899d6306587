# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What a process imports until the first kernel has run, and what kernels of others may call."""

import subprocess
import sys

import pytest

FIRST_KERNEL = """
import sys
from soro_mechanics.compilation.kernel_cache import use_kernel_cache
use_kernel_cache()
from soro_mechanics import load_robot
robot = load_robot('spatial_cc')
robot.forward([2e4, 8e4, 5e4])
print('scipy.linalg' in sys.modules, 'numpy.f2py' in sys.modules)
"""
OTHERS = """
import numba, numpy as np
@numba.njit
def product(a, b):
    return np.dot(a, b), np.linalg.solve(a, b)
a = np.array([[2.0, 1.0], [0.0, 4.0]])
both, solved = product(a, a)
print(np.array_equal(both, a @ a), np.allclose(solved, np.eye(2)))
"""
BEFORE = 'import scipy.linalg\nprint(scipy.linalg.norm([3.0, 4.0]))\n'


def printed(program):
    done = subprocess.run(
        [sys.executable, '-c', program], check=True, capture_output=True, text=True, timeout=300.0
    )
    return done.stdout.split()


@pytest.fixture(scope='module')
def said():
    """Return what a program says whose first kernel comes before all others, and SciPy after."""
    modules = "print('coverage' in sys.modules, 'cffi' in sys.modules)\n"
    after = 'import coverage\nprint(coverage.__name__)\n'
    return printed(FIRST_KERNEL + modules + OTHERS + BEFORE + after)


def test_the_first_kernel_needs_no_scipy_linalg_no_parser_of_c_and_no_coverage(said):
    assert said[:4] == ['False'] * 4


def test_kernels_of_others_find_blas(said):
    assert said[4:6] == ['True', 'True']


def test_scipy_and_coverage_can_be_imported_afterwards(said):
    assert said[6:] == ['5.0', 'coverage']


def test_scipy_that_is_there_already_stays():
    assert printed(BEFORE + FIRST_KERNEL)[:2] == ['5.0', 'True']


COMPILED = """
import io, sys
from soro_mechanics.compilation import numba_start
numba_start.SILENT, numba_start.PAUSE = 0.0, -1.0
numba_start.load_numba()
class Terminal(io.StringIO):
    def isatty(self):
        return self.read_by_a_person
sys.stderr = Terminal()
import numba
def compile_one(module):
    source = '@numba.njit\\ndef kernel(x):\\n    return x + 1\\nkernel(1)'
    exec(source, {'__name__': module, 'numba': numba})
    return sys.stderr.getvalue().count('kernels are being compiled')
for sys.stderr.read_by_a_person in (False, True):
    print(compile_one(None), compile_one('other'), compile_one('soro_mechanics.kernels'))
numba_start.PAUSE = 99.0
print(compile_one('soro_mechanics.kernels'))
"""


def test_a_person_who_waits_for_a_compiler_is_told_so_once():
    assert printed(COMPILED) == ['0', '0', '0', '0', '0', '1', '1']
