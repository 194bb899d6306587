#!/usr/bin/env python3
# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Run every src/*/benchmark/bench_*.py, or those whose path contains an argument, one by one.

Called by `make bench`. Each benchmark prints its own rows (median, p99) and runs on one core. What
it printed becomes its section of docs/performance.md; sections of others stay.
"""

import datetime
import os
from pathlib import Path
import platform
import re
import subprocess
import sys

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / 'docs' / 'performance.md'
THREADS = ('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS', 'NUMBA_NUM_THREADS')
HEAD = """# Performance

Written by `make bench` (`make bench ARGS="stiff_flop"` renews one section). Do not edit.

*median* and *p99* are wall time per call, *least* the shortest call, *processor* the median
processor time of the thread: what a call costs when other work does not interrupt it. A target is
judged by the processor time, because these tables are also made on busy machines; the load average
under each table says how busy. Benchmarks run one after the other, each on one core, kernels warm.
"""


def main() -> int:
    """Run the benchmarks; return 1 when one failed or none was found."""
    files = sorted(ROOT.glob('src/*/benchmark/bench_*.py'))
    chosen = [f for f in files if not sys.argv[1:] or any(a in str(f) for a in sys.argv[1:])]
    if not chosen:
        print('no benchmark' + (f' matches {sys.argv[1:]}' if files else ' found'))
        return 1
    failed = []
    sections = read_sections()
    for file in chosen:
        name = str(file.relative_to(ROOT))
        print(f'\n--- {name}', flush=True)
        code, text = run(file)
        if code:
            failed.append(name)
            continue
        sections[name] = f'{datetime.date.today()}, {machine()}\n\n```\n{text.strip()}\n```\n'
        write_sections(sections)
    if failed:
        print('FAILED: ' + ' '.join(failed))
    return 1 if failed else 0


def run(file: Path) -> tuple[int, str]:
    """Run one benchmark, showing what it prints; return its exit code and its output."""
    environment = {**os.environ, **dict.fromkeys(THREADS, '1'), 'PYTHONUNBUFFERED': '1'}
    lines = []
    with subprocess.Popen(
        [sys.executable, str(file)], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        for line in process.stdout or ():
            print(line, end='', flush=True)
            lines.append(line.rstrip())
    return process.returncode, '\n'.join(lines)


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
