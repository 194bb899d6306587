# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Large kernels are compiled once and called, also out of a cache of which parts are lost."""

import fcntl
import json
import os
from pathlib import Path
import subprocess
import sys
import threading
import time

from forked_programs import ForkedPrograms, own_cache
from numba.core.errors import NumbaError
from numba.core.runtime import _nrt_python, rtsys
import numpy as np
import pytest

from soro_mechanics.compilation import kernels
from soro_mechanics.compilation.kernels import kernel, makes_arrays

MODULE = """
from collections import namedtuple
import soro_mechanics.compilation.kernels as kernels
from soro_mechanics.compilation.kernels import kernel, merged_kernel
kernels.LARGE = {large}
Pair = namedtuple('Pair', 'a b')

@kernel
def inner(pair, out):
    total = 0.0
    for i in range(pair.a.shape[0]):
        total += pair.a[i] * pair.b[i]
        out[i] = total
    if total < 0.0:
        raise ValueError('negative')
    return total, out.shape[0]

@kernel
def outer(pair, out):
    total, n = inner(pair, out)
    return total + n

@merged_kernel
def merged(pair, out):
    return outer(pair, out)

@kernel
def top(pair, out):
    return 2.0 * merged(pair, out)
"""
PROGRAM = """
import json
import os
import numpy as np
import few_kernels as few
out = np.zeros(3)
pair = few.Pair(np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0]))
found = few.top(pair, out)
try:
    few.top(few.Pair(-pair.a, pair.b), np.zeros(3))
    error = ''
except ValueError as caught:
    error = str(caught)
print(json.dumps([found, out.tolist(), error, sum(few.top.stats.cache_hits.values())]))
"""


def program_folder(folder: Path, large: int) -> dict[str, str]:
    """Write the kernels into a folder; returns the environment of a program with a cache there."""
    (folder / 'few_kernels.py').write_text(MODULE.format(large=large))
    return own_cache(folder)


@pytest.fixture(scope='module')
def programs():
    with ForkedPrograms() as made:
        yield made


def run(programs: ForkedPrograms, folder: Path, large: int):
    """Run the program with a cache in the folder; returns value, array, error and cache hits."""
    program_folder(folder, large)
    return json.loads(programs.run(PROGRAM, folder)[0])


def cached(folder: Path, kernel: str):
    """Return the compiled files of a kernel."""
    return list((folder / 'cache').rglob(f'few_kernels.{kernel}-*.nbc'))


RIGHT = [2.0 * (4.0 + 10.0 + 18.0 + 3), [4.0, 14.0, 32.0], 'negative']


@pytest.fixture(scope='module')
def compiled(tmp_path_factory, programs):
    """Return a folder with a cache in which everything is; each test leaves it so."""
    folder = tmp_path_factory.mktemp('compiled')
    assert run(programs, folder, 0) == [*RIGHT, 0]
    return folder


@pytest.mark.parametrize('lost', ['inner', 'outer', 'merged', 'top'])
def test_a_called_kernel_is_found_again_or_compiled(compiled, programs, lost):
    for file in cached(compiled, lost):
        file.unlink()
    assert run(programs, compiled, 0) == [*RIGHT, int(lost != 'top')]
    assert run(programs, compiled, 0) == [*RIGHT, 1]
    assert all(cached(compiled, kernel) for kernel in ('inner', 'outer', 'top'))


def test_a_called_kernel_is_in_no_caller(tmp_path, programs):
    run(programs, tmp_path, 0)
    called = [file.read_bytes() for file in cached(tmp_path, 'top')]
    for old in (tmp_path / 'cache').rglob('*.nb?'):
        old.unlink()
    assert run(programs, tmp_path, 10**9)[0] == 70.0
    copied = [file.read_bytes() for file in cached(tmp_path, 'top')]
    assert not any(b'negative' in code for code in called)
    assert any(b'negative' in code for code in copied)
    assert sum(map(len, called)) < sum(map(len, copied))


BOTH_WAYS = """
import few_kernels as few
import numpy as np
pair = few.Pair(np.ones(3), np.ones(3))

def callable_from_python():
    return [k.__name__ for k in (few.inner, few.outer, few.top)
            if any(map(few.kernels.has_wrapper, k.overloads.values()))]

few.top(pair, np.zeros(3))
print(callable_from_python(), few.inner(pair, np.zeros(3)), callable_from_python())
few.inner = None  # what called it still does
print(few.top(pair, np.zeros(3)), sum(few.outer.stats.cache_misses.values()))
"""


@pytest.mark.parametrize('large', [0, 10**9])
def test_only_what_python_calls_is_compiled_for_it(tmp_path, programs, large):
    program_folder(tmp_path, large)
    for misses in (1, 0):
        first, second = programs.run(BOTH_WAYS, tmp_path)[0].splitlines()
        assert first == "['top'] (3.0, 3) ['inner', 'top']"
        assert second == f'12.0 {misses}'
    for_kernels_and_python = [file.read_bytes() for file in cached(tmp_path, 'inner')]
    whole = sum(b'negative' in code for code in for_kernels_and_python)
    assert (len(for_kernels_and_python), whole) == (2, 1 if large == 0 else 2)


TOGETHER = """
import sys
import threading
import numpy as np
import few_kernels as few
print('ready', flush=True)
sys.stdin.readline()
few.top(few.Pair(np.ones(3), np.ones(3)), np.zeros(3))
print(sum(sum(f.stats.cache_misses.values()) for f in (few.inner, few.outer, few.top)))
"""


def test_of_several_processes_one_compiles(tmp_path):
    environment = program_folder(tmp_path, 0)
    pipe = subprocess.PIPE
    started = [
        subprocess.Popen(
            [sys.executable, '-c', TOGETHER], env=environment, text=True, stdin=pipe, stdout=pipe
        )
        for _ in range(3)
    ]
    assert [p.stdout.readline() for p in started] == ['ready\n'] * 3
    for process in started:
        process.stdin.write('\n')
        process.stdin.flush()
    compiled = [int(p.communicate(timeout=120)[0]) for p in started]
    assert sum(compiled) == 3, compiled
    assert [p.returncode for p in started] == [0] * 3


FULL = """
import resource, sys
import numpy as np
import few_kernels as few
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # what a full disk does: no byte is written
few.top(few.Pair(np.ones(3), np.ones(3)), np.zeros(3))
print(sum(sum(f.stats.cache_misses.values()) for f in (few.inner, few.outer, few.top)))
"""


def test_a_full_disk_is_no_end(tmp_path):
    environment = program_folder(tmp_path, 0) | {'PYTHONDONTWRITEBYTECODE': '1'}
    done = subprocess.run(
        [sys.executable, '-c', FULL], env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.stdout == '3\n', done.stderr
    assert done.stderr.count('\n') == 1 and 'cannot be kept' in done.stderr


@kernel
def _shifted(value, by):
    return value + by


@kernel
def _shifted_twice(value):
    return _shifted(_shifted(value, 1), by=2)


HOLDER = """
import os, sys
from soro_mechanics.compilation import kernels
kernels._rank = lambda: int(sys.argv[2])
lock = open(sys.argv[1], 'a+')
kernels._take(lock)
print('held', flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize(('rank', 'behind', 'beside'), [('19', 0.1, 1e9), ('0', 1e9, 0.6)])
def test_one_that_gets_less_of_the_processor_is_not_waited_for(
    tmp_path, monkeypatch, rank, behind, beside
):
    monkeypatch.setattr(kernels, '_rank', lambda: 0)
    monkeypatch.setattr(kernels, 'PATIENCE', behind)  # what is not meant has no end
    monkeypatch.setattr(kernels, 'MAX_WAIT', beside)
    path = tmp_path / 'kernel.lock'
    with subprocess.Popen(
        [sys.executable, '-c', HOLDER, str(path), rank],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout.readline() == 'held\n'
        with path.open('a+') as lock:
            begin = time.monotonic()
            kernels._take(lock)
            took = time.monotonic() - begin
            with pytest.raises(BlockingIOError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            assert took >= min(behind, beside)
            holder.communicate()
            kernels._take(lock)
            assert path.read_text() == '0\n'


@pytest.mark.parametrize(
    'lock', [kernels.global_compiler_lock, kernels.llvm.ffi.lib._lock], ids=['numba', 'llvm']
)
def test_a_forked_process_can_compile_whatever_threads_did(lock):
    ended = threading.Event()

    def compile_on():
        while not ended.is_set():
            with lock:
                sum(range(100_000))

    thread = threading.Thread(target=compile_on)
    thread.start()
    try:
        free = []
        for _ in range(20):
            child = os.fork()
            if child == 0:
                os._exit(not lock._lock.acquire(blocking=False))
            free.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0)
    finally:
        ended.set()
        thread.join()
    assert all(free)


BACK = """
import os
from soro_mechanics.compilation.kernels import _rank
os.nice(3)
print(_rank() in (os.nice(0), 20) and _rank() >= 3)
os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
print(_rank())
"""


def test_who_stands_back_farther_has_a_higher_rank():
    found = subprocess.run(
        [sys.executable, '-c', BACK], capture_output=True, text=True, check=True
    )
    assert found.stdout.split() == ['True', '20']


def test_literals_of_one_type_share_a_signature():
    assert _shifted_twice(4.0) == 7.0
    _shifted_twice.recompile()  # out of a cache it needs no other kernel
    assert len(_shifted.overloads) == 1


@kernel
def total(values):
    part = values[1:]
    result = values[0]
    for i in range(part.shape[0]):
        result += part[i]
    return result


@makes_arrays
@kernel
def shifted(values, out):
    out[:] = values + 1.0
    return total(out)


@kernel
def made(n):
    return np.zeros(n)


@makes_arrays
@kernel
def first_of_made(n):
    return made(n)[0]


@kernel
def itself(values):
    return values


def outstanding() -> int:
    """Return how many arrays of kernels were made and not given back."""
    stats = rtsys.get_allocation_stats()
    return stats.mi_alloc - stats.mi_free


def test_references_are_counted_where_arrays_are_made_and_nothing_is_left_over():
    _nrt_python.memsys_enable_stats()
    values, out = np.arange(4.0), np.zeros(4)
    before = None
    for _ in range(20):
        assert total(values) == 6.0 and shifted(values, out) == 10.0
        assert first_of_made(3) == 0.0 and made(2).shape == (2,)
        before = outstanding() if before is None else before
    assert outstanding() == before
    _nrt_python.memsys_disable_stats()
    counting = [k.targetoptions['_nrt'] for k in (total, shifted, made, first_of_made)]
    assert counting == [False, True, True, True]


@kernel
def twice_of_made(n):
    return first_of_made(n) + made(n)[0]


def test_a_kernel_that_counts_nothing_returns_no_array():
    for _ in range(2):
        with pytest.raises(TypeError, match='itself returns parts of its arguments'):
            itself(np.zeros(2))
    with pytest.raises(NumbaError, match='made returns arrays'):
        twice_of_made(2)
