#!/usr/bin/env python3
# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Run every benchmarks/*/bench_*.py, or those whose path contains an argument, one by one.

Called by `make bench`. Each benchmark prints its own rows (median, p99) and runs on one core. What
it printed, and its rows as numbers, are kept in docs/evidence/performance.json, also where it
missed what it should show; those of others stay. performance.md and targets.md follow.
Libraries of others, which bench_compare and bench_dynamics run beside ours, are installed from
requirements/peers.txt into an environment of their own, .venv-peers. With
--check nothing is written; rows that have become slower fail the run (see benchmark_check).
--store keeps the ratios.
"""

import datetime
import json
import os
from pathlib import Path
import platform
import re
import subprocess
import sys
import tempfile
from typing import Any

import benchmark_check
import docs_site
import targets_page
from workspace_layout import SetupError

from soro_studies.mechanics.benchmark_rows import MISSED, ROWS_FILE

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / 'docs' / 'evidence' / 'performance.md'
STORE = PAGE.with_suffix('.json')
WITH_PEERS = ('bench_compare', 'bench_dynamics')
THREADS = ('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS', 'NUMBA_NUM_THREADS')
HEAD = """# Performance

Written by `make bench` (`make bench ARGS="stiff_flop"` renews one section). Do not edit.

*median* and *p99* are wall time per call, *least* the shortest call, *processor* the median
processor time of the thread: what a call costs when other work does not interrupt it. A target is
judged by the processor time, because these tables are also made on busy machines; the load average
under each table says how busy. Starts of robots (`bench_start`) are judged by the median of the
wall time, on all cores. Benchmarks run one after the other, the others each on one core, kernels
warm.
"""


def main() -> int:
    """Run the benchmarks; return 1 when one failed, is slower, or none was found."""
    if {'-h', '--help'} & set(sys.argv):
        print(__doc__)
        return 0
    words = [a for a in sys.argv[1:] if not a.startswith('--')]
    check, store = '--check' in sys.argv, '--store' in sys.argv
    files = sorted(ROOT.glob('benchmarks/*/bench_*.py'))
    chosen = [f for f in files if not words or any(w in str(f) for w in words)]
    if check:
        known = benchmark_check.read_baseline()
        chosen = [f for f in chosen if f.stem in known]
    if not chosen:
        print('no benchmark' + (f' matches {words}' if files else ' found'))
        return 1
    if not check and any(f.stem in WITH_PEERS for f in chosen):
        prepare_peers()
    failed, ratios = [], {}
    kept = read_kept()
    for file in chosen:
        name = str(file.relative_to(ROOT))
        print(f'\n--- {name}', flush=True)
        code, text, rows, times = run(file)
        if code:
            failed.append(name)
        if code not in (0, MISSED):  # it did not come to its end
            continue
        if rows:
            ratios[file.stem] = rows
        kept[name] = result(text, times)
        if not check:
            keep(kept)
    if store:
        benchmark_check.store(ratios)
    worse = benchmark_check.slower(ratios, known) if check else []
    print('\n'.join(worse) if worse or not check else 'nothing has become slower')
    stale = 0 if check else targets_page.main()
    if failed:
        print('FAILED: ' + ' '.join(failed))
    return 1 if failed or worse or stale else 0


def prepare_peers() -> None:
    """Install the libraries of others; where that fails, say why, and run without them."""
    environment = ROOT / '.venv-peers'
    try:
        docs_site.prepare(environment, ROOT / 'requirements' / 'peers.txt')
    except SetupError as error:
        print(error)
        return
    os.environ.setdefault('SORO_PEERS_PYTHON', str(environment / 'bin/python'))


def run(file: Path) -> tuple[int, str, dict[str, float], dict[str, Any]]:
    """Run one benchmark, showing what it prints.

    Returns
    -------
    tuple
        Exit code, what it printed, ratios of its rows, times of its rows [s].
    """
    lines = []
    with tempfile.TemporaryDirectory(prefix='soro_bench_') as folder:
        rows = Path(folder, 'rows.json')
        environment = {
            **os.environ,
            **dict.fromkeys(THREADS, '1'),
            'PYTHONUNBUFFERED': '1',
            ROWS_FILE: str(rows),
        }
        with subprocess.Popen(
            [sys.executable, str(file)],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            for line in process.stdout or ():
                print(line, end='', flush=True)
                lines.append(line.rstrip())
        ratios = benchmark_check.ratios(rows) if rows.is_file() else {}
        times = json.loads(rows.read_text(encoding='utf-8'))['times'] if rows.is_file() else {}
    return process.returncode, '\n'.join(lines), ratios, times


def result(text: str, times: dict[str, Any]) -> dict[str, Any]:
    """Return what is kept of a run; its lines `Picture: file` name files to show."""
    shown = re.sub(r'^Picture: .*\n?', '', text, flags=re.MULTILINE).strip()
    return {
        'date': datetime.date.today().isoformat(),
        'machine': machine(),
        'lines': shown.splitlines(),
        'pictures': re.findall(r'^Picture: docs/(\S+)$', text, flags=re.MULTILINE),
        'rows': times,
    }


def section(run: dict[str, Any]) -> str:
    """Return what is kept of a run as a section of the page."""
    shown = ''.join(f'\n![{Path(p).stem.replace("_", " ")}](../{p})\n' for p in run['pictures'])
    lines = '\n'.join(run['lines'])
    return f'{run["date"]}, {run["machine"]}\n\n```\n{lines}\n```\n{shown}'


def machine() -> str:
    """Name the processor and the interpreter."""
    try:
        text = Path('/proc/cpuinfo').read_text(encoding='utf-8')
    except OSError:
        text = ''
    found = re.search(r'model name\s*:\s*(.+)', text)
    name = found.group(1) if found else platform.processor() or 'unknown processor'
    return f'{name}, {os.cpu_count()} cores, Python {platform.python_version()}'


def read_kept() -> dict[str, Any]:
    """Return what is kept of every benchmark."""
    return json.loads(STORE.read_text(encoding='utf-8')) if STORE.is_file() else {}


def keep(kept: dict[str, Any]) -> None:
    """Write results and page; benchmarks that no longer exist lose theirs."""
    own = {name: run for name, run in sorted(kept.items()) if (ROOT / name).is_file()}
    STORE.write_text(json.dumps(own, indent=1) + '\n', encoding='utf-8')
    PAGE.write_text(page(own), encoding='utf-8')


def page(kept: dict[str, Any]) -> str:
    """Return the page of what is kept."""
    return HEAD + '\n' + '\n'.join(f'## {name}\n\n{section(r)}' for name, r in kept.items())


if __name__ == '__main__':
    sys.exit(main())
