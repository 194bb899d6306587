# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What a benchmark printed is kept with its rows as numbers, and the page is made of that."""

import json

import pytest
import run_benchmarks

TIMES = {'rods: forward': {'median': 1e-3, 'p99': 2e-3, 'least': 9e-4, 'processor': 9.5e-4}}


@pytest.fixture
def tree(tmp_path, monkeypatch):
    (tmp_path / 'benchmarks').mkdir()
    (tmp_path / 'benchmarks/bench_rods.py').touch()
    monkeypatch.setattr(run_benchmarks, 'ROOT', tmp_path)
    monkeypatch.setattr(run_benchmarks, 'PAGE', tmp_path / 'performance.md')
    monkeypatch.setattr(run_benchmarks, 'STORE', tmp_path / 'performance.json')
    return tmp_path


def test_results_are_kept_and_the_page_follows(tree):
    assert run_benchmarks.read_kept() == {}
    made = run_benchmarks.result('\nmedian\nrods 1 ms\nPicture: docs/img/rods.png\n', TIMES)
    run_benchmarks.keep({'benchmarks/bench_rods.py': made, 'benchmarks/gone.py': made})
    kept = json.loads((tree / 'performance.json').read_text())
    assert list(kept) == ['benchmarks/bench_rods.py']
    assert kept['benchmarks/bench_rods.py']['rows'] == TIMES
    text = (tree / 'performance.md').read_text()
    assert '## benchmarks/bench_rods.py\n' in text and '```\nmedian\nrods 1 ms\n```' in text
    assert '![rods](../img/rods.png)' in text and 'Picture:' not in text


def test_the_times_of_a_run_are_read_from_its_rows(tree):
    file = tree / 'bench_one.py'
    file.write_text(
        'import json, os\n'
        "rows = {'reference': 1.0, 'rows': {'a': 2.0}, 'times': {'a': {'median': 3.0}}}\n"
        "open(os.environ['SORO_BENCHMARK_ROWS'], 'w').write(json.dumps(rows))\n"
        "print('shown')\n"
    )
    code, text, ratios, times = run_benchmarks.run(file)
    assert (code, text) == (0, 'shown')
    assert ratios == {'a': 2.0} and times == {'a': {'median': 3.0}}
