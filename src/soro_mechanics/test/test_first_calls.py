# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Until a kernel is compiled its Python runs; a result is what the compiled kernel says."""

from concurrent.futures import ThreadPoolExecutor
import contextlib
import json
import multiprocessing
import os
from pathlib import Path
import pickle
import select
import shutil
import signal
import subprocess
import sys
import types

from numba import njit
import numpy as np
import pytest

from soro_mechanics import load_robot
from soro_mechanics.compilation import first_calls
from soro_mechanics.compile_robot import compile_first

NAME = 'soro_mechanics.first_calls_test_kernels'
ORDINARY = type(njit(lambda x: x))


def shift(x):
    x += 1.0


def divide(x, n, more=0.0):
    shift(x)
    x[0] = 1.0 / n + more  # Python raises where n is zero, a kernel of error_model numpy does not


class Compiler:
    """What the other process has done, without it."""

    def __init__(self, monkeypatch):
        self.runs, self.done = True, False
        monkeypatch.delenv('SORO_KERNELS', raising=False)
        monkeypatch.setattr(first_calls, '_now', None)
        monkeypatch.setattr(first_calls, 'PERIOD', 0.0)
        of = first_calls._Interpretation
        monkeypatch.setattr(of, 'compiling', lambda _: self.runs)
        monkeypatch.setattr(of, 'ready', lambda *_: self.done)
        monkeypatch.setattr(of, 'wait_for', lambda *_: self.finish())

    def finish(self):
        self.runs, self.done = False, True


@pytest.fixture
def module(monkeypatch):
    module = types.ModuleType(NAME)
    module.shift = njit(error_model='numpy')(shift)
    space = {'shift': module.shift}
    python = types.FunctionType(divide.__code__, space, 'divide', divide.__defaults__)
    module.divide = njit(error_model='numpy')(python)
    monkeypatch.setitem(sys.modules, NAME, module)
    return module


@pytest.fixture
def compiler(monkeypatch):
    return Compiler(monkeypatch)


@pytest.fixture
def kernels(compiler, module):
    first_calls.begin('robot.yaml', 'model')
    yield module
    first_calls.finish()


def test_what_is_not_compiled_is_interpreted(kernels):
    x = np.zeros(2)
    kernels.divide(x, 4.0)
    assert x.tolist() == [0.25, 1.0]
    assert not kernels.divide.overloads
    assert not kernels.shift.overloads


def test_what_the_interpreter_refuses_is_computed_again_by_the_compiled_kernel(kernels):
    x = np.zeros(2)
    kernels.divide(x, 0.0)
    assert x.tolist() == [np.inf, 1.0]  # 1, not 2: the first attempt left nothing behind
    assert kernels.divide.overloads


def test_an_interpreted_kernel_is_left_for_the_compiled_one(kernels, monkeypatch):
    x = np.zeros(2)
    looks = iter([False])  # not compiled yet when it begins, compiled when it calls another
    monkeypatch.setattr(first_calls._Interpretation, 'ready', lambda *_: next(looks, True))
    kernels.divide(x, 4.0)
    assert x.tolist() == [0.25, 1.0]
    assert kernels.divide.overloads


def test_an_interrupt_is_one_and_leaves_the_arguments_as_they_were(kernels, monkeypatch):
    def interrupt(_):
        x[:] = 7.0
        raise KeyboardInterrupt

    x = np.zeros(2)
    monkeypatch.setattr(first_calls._Interpretation, 'look', interrupt)
    with pytest.raises(KeyboardInterrupt):
        kernels.divide(x, 4.0)
    assert x.tolist() == [0.0, 0.0]
    monkeypatch.setattr(first_calls._Interpretation, 'look', lambda _: None)
    kernels.divide(x, 4.0)  # and the next call is an ordinary one
    assert x.tolist() == [0.25, 1.0]


@pytest.mark.parametrize('end', ['ready', 'finish'])
def test_a_compiled_kernel_costs_no_look_any_more(kernels, compiler, end):
    assert type(kernels.divide) is not ORDINARY
    if end == 'ready':
        compiler.done = True
        kernels.divide(np.zeros(2), 4.0)
    else:
        compiler.runs = False
        first_calls.finish()
        assert type(kernels.shift) is ORDINARY
    assert type(kernels.divide) is ORDINARY


def test_threads_may_call_while_the_kernels_change_over_and_begin_anew(kernels, compiler):
    def call(n):
        x = np.zeros(2)
        if n == 20:
            compiler.finish()
        if n % 7 == 3:
            first_calls.finish() if n % 2 else first_calls.begin(f'{n}.yaml', 'model')
        kernels.divide(x, 4.0)
        return x.tolist()

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(call, range(200))) == [[0.25, 1.0]] * 200
    first_calls.finish()
    assert {type(kernels.divide), type(kernels.shift)} == {ORDINARY}


def test_an_interpreted_kernel_is_pickled_as_any_other(kernels):
    assert first_calls.__name__.encode() not in pickle.dumps(kernels.shift)


def test_nothing_is_interpreted_in_a_forked_process(kernels):
    with multiprocessing.get_context('fork').Pool(1) as pool:
        assert pool.apply(_kind_after_a_call) == (True, True)
    assert type(kernels.divide) is not ORDINARY


def _kind_after_a_call():
    kernel, x = sys.modules[NAME].divide, np.zeros(2)
    kernel(x, 4.0)
    return type(kernel) is ORDINARY, x.tolist() == [0.25, 1.0]


def test_nothing_is_interpreted_where_compiled_kernels_are_asked_for(compiler, monkeypatch):
    monkeypatch.setenv('SORO_KERNELS', 'compiled')
    first_calls.begin('robot.yaml', 'model')
    assert first_calls._now is None


@pytest.mark.parametrize('end', ['import sys; sys.exit(3)', 'import os; os.kill(os.getpid(), 9)'])
def test_what_a_process_that_ended_has_not_compiled_is_compiled_here(module, monkeypatch, end):
    monkeypatch.delenv('SORO_KERNELS', raising=False)
    monkeypatch.setattr(first_calls, '_now', None)
    monkeypatch.setattr(first_calls, '_CHILD', f'import sys; sys.stdin.read(1); {end}')
    monkeypatch.setattr(first_calls._Interpretation, 'ready', lambda _, k, a: bool(k.overloads))
    first_calls.begin('robot.yaml', 'model')
    now, x = first_calls._now, np.zeros(2)
    module.divide(x, 4.0)
    assert not module.divide.overloads
    now._child.stdin.close()
    now._child.wait()
    module.divide(x, 4.0, 1.0)
    assert x.tolist() == [1.25, 2.0]
    assert module.divide.overloads
    assert not now.compiling()  # and no other process is begun for the same robot
    first_calls.finish()


# ---- programs

COMPARISON = """
import json, pickle, sys
import numpy as np
from soro_mechanics import load_robot
from soro_mechanics.compilation import first_calls
of = first_calls._Interpretation
of.ready, of.compiling = (lambda *_: False), (lambda _: True)
of.wait_for = lambda _, kernel, __: sys.exit(f'the interpreter refused {kernel}')
name, model = sys.argv[1:]
robot = load_robot(name, model)
low, high = robot.limits.T
load = [0.01, -0.02, 0.03, 0.0, 0.001, 0.0]
def answers():
    q = robot.forward(low + 0.3 * (high - low), load)
    assert q.status.converged
    pickle.loads(pickle.dumps((robot, q)))
    return q.tip, robot.jacobian(q), robot.compliance(q)
interpreted = answers()
kernels = first_calls._now._kernels
assert not any(k.overloads for k in kernels)
first_calls.finish()
compiled = answers()
assert any(k.overloads for k in kernels)
print(json.dumps([float(abs(a - b).max() / abs(b).max())
                  for a, b in zip(interpreted, compiled, strict=True)]))
"""


def variables(**more):
    """Return the environment of a program that uses the library alone."""
    return {k: v for k, v in os.environ.items() if k != 'SORO_KERNELS'} | more


@pytest.mark.timeout(900)  # kernels of a network are compiled, where no test has before
@pytest.mark.parametrize(
    ('robot', 'model'),
    [
        ('stiff_flop', 'ncm'),
        ('stiff_flop', 'lpcc'),
        ('spatial_cc', 'constant_curvature'),
        ('soft_parallel', 'ancf'),
        ('pam_continuum', 'kirchhoff'),
        ('stewart_gough', 'network'),
    ],
)
def test_interpreted_and_compiled_kernels_say_the_same(robot, model):
    done = subprocess.run(
        [sys.executable, '-c', COMPARISON, robot, model],
        env=variables(),
        text=True,
        stdout=subprocess.PIPE,
        timeout=880,
        check=True,
    )
    assert max(json.loads(done.stdout)) < 1e-9, done.stdout


PROGRAM = """
import sys
from soro_mechanics import load_robot
robot = load_robot('spatial_cc')
first = robot.forward(robot.limits.mean(axis=1))
robot.inverse(first.tip[:3, 3], guess=first)
again = robot.forward(robot.limits.mean(axis=1))
assert abs(first.tip - again.tip).max() < 1e-12
kernels = sys.modules['soro_mechanics.models.constant_curvature.kernels']
print(type(kernels.arc_pose).__name__, type(kernels.arc_pose).__module__)
"""


@pytest.mark.timeout(900)
def test_programs_begin_interpreted_and_go_on_compiled(tmp_path):
    # In a cache that lacks what comes first: all others take far longer, and prove no more.
    compile_first(load_robot('spatial_cc'))
    for file in Path(os.environ['NUMBA_CACHE_DIR']).glob('*/*.nb?'):
        if not file.name.startswith('kernels.arc_poses-'):
            place = tmp_path / 'kernels' / file.parent.name
            place.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, place)

    def start():
        return subprocess.Popen(
            [sys.executable, '-c', PROGRAM],
            env=variables(NUMBA_CACHE_DIR='kernels'),  # relative: the other process finds it too
            cwd=tmp_path,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    together = [start(), start()]
    said = [p.communicate(timeout=420) for p in together]
    said.append(start().communicate(timeout=420))
    assert [out for out, _ in said] == ['Kernel soro_mechanics.compilation.kernels\n'] * 3, said
    # On a busy computer the second may begin when the first's kernels are compiled.
    assert any('they are interpreted' in error for _, error in said[:2]), said
    assert said[2][1] == '', said  # all of it was found in the cache


ENDING = """
import os, sys
from soro_mechanics import load_robot
from soro_mechanics.compilation import first_calls
robot = load_robot('spatial_cc')
robot.forward(robot.limits.mean(axis=1))
print(first_calls._now._child.pid, flush=True)
if sys.argv[1] == 'wait':
    robot.inverse([0.0, 0.0, 0.17])
elif sys.argv[1] == 'kill':
    os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize('end', ['return', 'kill', 'wait'])
def test_the_compiling_process_ends_with_the_program(tmp_path, end):
    program = subprocess.Popen(
        [sys.executable, '-c', ENDING, end],
        env=variables(NUMBA_CACHE_DIR=str(tmp_path)),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    child = int(program.stdout.readline())
    if end == 'wait':
        program.send_signal(signal.SIGINT)
    ended = program.wait(60)
    assert ended == {'return': 0, 'kill': -9, 'wait': -signal.SIGINT}[end]
    with contextlib.suppress(ProcessLookupError), os.fdopen(os.pidfd_open(child)) as watch:
        assert select.select([watch], [], [], 60)[0]


def test_the_compiling_process_ends_well_before_the_program():
    code = first_calls._CHILD.format(sys.path, [])
    child = subprocess.Popen(
        [sys.executable, '-c', code], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert (child.wait(60), child.stderr.read()) == (0, '')
    finally:
        child.stdin.close()
        child.kill()
