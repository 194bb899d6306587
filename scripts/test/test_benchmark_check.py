# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What counts as slower: ratios to work of the same run, whatever the machine."""

import json

import benchmark_check
import pytest


def rows_file(folder, reference, **rows):
    file = folder / 'rows.json'
    file.write_text(json.dumps({'reference': reference, 'rows': rows}), encoding='utf-8')
    return file


def test_a_slower_machine_changes_no_ratio(tmp_path):
    fast = benchmark_check.ratios(rows_file(tmp_path, 1e-4, forward=2e-4))
    slow = benchmark_check.ratios(rows_file(tmp_path, 3e-4, forward=6e-4))
    assert slow == pytest.approx(fast)


def test_slower_and_unknown_rows_are_named():
    stored = {'bench_a': {'forward': 2.0, 'inverse': 4.0}}
    measured = {'bench_a': {'forward': 2.5, 'inverse': 6.0, 'new': 1.0}}
    first, second = benchmark_check.slower(measured, stored)
    assert 'inverse: 1.50 times' in first
    assert 'new: not stored' in second
    assert benchmark_check.slower({'bench_a': {'forward': 1.0, 'inverse': 4.0}}, stored) == []


def test_a_row_that_is_gone_is_named():
    stored = {'bench_a': {'forward': 2.0, 'inverse': 4.0}, 'bench_b': {'other': 1.0}}
    (line,) = benchmark_check.slower({'bench_a': {'forward': 2.0}}, stored)
    assert 'bench_a: inverse: stored, and not measured any more' in line


def test_storing_keeps_what_was_not_run(tmp_path, monkeypatch):
    monkeypatch.setattr(benchmark_check, 'BASELINE', tmp_path / 'baseline.json')
    assert benchmark_check.read_baseline() == {}
    benchmark_check.store({'bench_a': {'forward': 1.23456}})
    benchmark_check.store({'bench_b': {'inverse': 2.0}})
    assert benchmark_check.read_baseline() == {
        'bench_a': {'forward': 1.23},
        'bench_b': {'inverse': 2.0},
    }
