# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Rows of benchmarks: what is judged, and what is said of it."""

from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from soro_mechanics.core.status import Code, SolverStatus
from soro_studies.mechanics.benchmark_rows import BenchmarkRow, measure, table


@pytest.mark.parametrize(
    ('median', 'processor', 'by_wall', 'met'),
    [
        (3.0, 1.0, False, True),
        (1.0, 3.0, False, False),
        (3.0, 1.0, True, False),
        (1.0, 3.0, True, True),
    ],
)
def test_a_row_is_judged_by_processor_time_unless_it_waits(median, processor, by_wall, met):
    row = BenchmarkRow('start', median, 4.0, 1.0, processor, 5, 2.0, by_wall=by_wall)
    assert row.met is met
    assert table([row]).splitlines()[1].endswith('2 s ok' if met else '2 s MISSED')


def test_calls_are_counted_with_their_numbers_after_the_warm_up():
    seen = []
    row = measure('calls', seen.append, 4, warm_up=2)
    assert seen == [0, 1, 0, 1, 2, 3] and row.calls == 4
    assert 0.0 < row.least <= row.median <= row.p99
    assert row.met and 'ok' not in table([row])  # nothing was asked


@pytest.mark.parametrize(
    ('code', 'solved'),
    [
        (Code.NONE, True),
        (Code.UNSTABLE, True),
        (Code.NOT_CONVERGED, False),
        (Code.UNREACHABLE, False),
    ],
)
def test_what_does_not_solve_is_no_row(code, solved):
    answer = SimpleNamespace(status=SolverStatus(code))
    with nullcontext() if solved else pytest.raises(SystemExit, match='solves: call 0'):
        measure('solves', lambda k: answer, 1)


def test_cycles_are_shown_where_they_are_counted():
    plain = BenchmarkRow('a', 1.0, 1.0, 1.0, 1.0, 1)
    counted = BenchmarkRow('b', 1.0, 1.0, 1.0, 1.0, 1, cycles=12345.0)
    assert 'cycles' not in table([plain])
    head, first, second = table([plain, counted]).splitlines()
    assert 'cycles' in head and 'nan' in first and '1.23e+04' in second
