#!/usr/bin/env python3
# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Run every benchmarks/*/bench_*.py, or those whose path contains an argument, one by one.

Called by `make bench`. Each benchmark prints its own rows (median, p99) and runs on one core. What
it printed becomes its section of docs/evidence/performance.md, also where it missed what it should
show; sections of others stay. targets.md beside it follows. With --check nothing is written; rows
that have become slower fail the run (see benchmark_check). --store keeps the ratios.
"""

import datetime
import os
from pathlib import Path
import platform
import re
import subprocess
import sys
import tempfile

import benchmark_check
import targets_page

from soro_studies.mechanics.benchmark_rows import MISSED, ROWS_FILE

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / 'docs' / 'evidence' / 'performance.md'
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
    words = [a for a in sys.argv[1:] if not a.startswith('--')]
    check, keep = '--check' in sys.argv, '--store' in sys.argv
    files = sorted(ROOT.glob('benchmarks/*/bench_*.py'))
    chosen = [f for f in files if not words or any(w in str(f) for w in words)]
    if check:
        known = benchmark_check.read_baseline()
        chosen = [f for f in chosen if f.stem in known]
    if not chosen:
        print('no benchmark' + (f' matches {words}' if files else ' found'))
        return 1
    failed, ratios = [], {}
    sections = read_sections()
    for file in chosen:
        name = str(file.relative_to(ROOT))
        print(f'\n--- {name}', flush=True)
        code, text, rows = run(file)
        if code:
            failed.append(name)
        if code not in (0, MISSED):  # it did not come to its end
            continue
        if rows:
            ratios[file.stem] = rows
        sections[name] = section(text)
        if not check:
            write_sections(sections)
    if keep:
        benchmark_check.store(ratios)
    worse = benchmark_check.slower(ratios, known) if check else []
    print('\n'.join(worse) if worse or not check else 'nothing has become slower')
    stale = 0 if check else targets_page.main()
    if failed:
        print('FAILED: ' + ' '.join(failed))
    return 1 if failed or worse or stale else 0


def run(file: Path) -> tuple[int, str, dict[str, float]]:
    """Run one benchmark, showing what it prints; return exit code, output, ratios of its rows."""
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
    return process.returncode, '\n'.join(lines), ratios


def section(text: str) -> str:
    """Return what a benchmark printed as a section; its lines `Picture: file` show the files."""
    pictures = re.findall(r'^Picture: docs/(\S+)$', text, flags=re.MULTILINE)
    kept = re.sub(r'^Picture: .*\n?', '', text, flags=re.MULTILINE).strip()
    shown = ''.join(f'\n![{Path(p).stem.replace("_", " ")}](../{p})\n' for p in pictures)
    return f'{datetime.date.today()}, {machine()}\n\n```\n{kept}\n```\n{shown}'


def machine() -> str:
    """Name the processor and the interpreter."""
    try:
        text = Path('/proc/cpuinfo').read_text(encoding='utf-8')
    except OSError:
        text = ''
    found = re.search(r'model name\s*:\s*(.+)', text)
    name = found.group(1) if found else platform.processor() or 'unknown processor'
    return f'{name}, {os.cpu_count()} cores, Python {platform.python_version()}'


def read_sections() -> dict[str, str]:
    """Return the page's sections by benchmark."""
    text = PAGE.read_text(encoding='utf-8') if PAGE.is_file() else ''
    parts = re.split(r'^## (.+)\n', text, flags=re.MULTILINE)[1:]
    return {parts[i]: parts[i + 1].strip() + '\n' for i in range(0, len(parts), 2)}


def write_sections(sections: dict[str, str]) -> None:
    """Write the page; benchmarks that no longer exist lose their section."""
    kept = {name: body for name, body in sorted(sections.items()) if (ROOT / name).is_file()}
    pages = [f'## {name}\n\n{body}' for name, body in kept.items()]
    PAGE.write_text(HEAD + '\n' + '\n'.join(pages), encoding='utf-8')


if __name__ == '__main__':
    sys.exit(main())
