#!/usr/bin/env python3
# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Run the tests of all packages, one pytest per package, robots with a fast loop last.

Called by `make test` with the workspace's environment. Packages are given by name, without any all
of them run; what follows `--` goes to pytest. A package without a test that ran fails the run.
The tests of drivers with their emulators (soro_system_tests/test/devices) run as soro_devices.
With --smoke the whole robots are only those of the tests named *smoke*.

Packages run in lanes. Robots join them once the kernels of the catalogue are compiled, and
computation runs beside all on what they leave over: before, a robot would wait for a process that
has less of the machine. At the end haptic robots run alone.

Nodes, drivers, emulated devices and compiling processes have deadlines, and the machine may stand
still for a moment (another load, a host that rations time). What fails there is run once more at
the end, alone; what fails twice fails, and a pytest that stands still is killed and run again. The
summary names what needed its second run, and why: it is not fine.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import dataclasses
import fcntl
import os
from pathlib import Path
import re
import signal
import subprocess
import sys
import tempfile
import time
from typing import IO
import xml.etree.ElementTree as ElementTree

ROOT = Path(__file__).resolve().parent.parent
LAST = 'soro_system_tests'
# Its tests of drivers with their emulators; they need no machine for themselves.
DEVICES = 'soro_devices'
# Whole robots with a loop of 500 Hz; the others bear company.
ALONE = 'haptic'
# Computation without deadlines: it fills the time in which the nodes' tests wait, in several
# processes, so that all cores are busy when those tests have ended.
BESIDE = ('soro_mechanics', 'studies')
# Among those, what waits for other processes; computation alone has no second chance.
WITH_DEADLINES = (
    'test_first_calls',
    'test_workspace_cluster',
    'test_studies',
    'test_stm32_virtual',
)
IN_HALVES = ('soro_mechanics', DEVICES)
WORTH_TWO = 15  # files
# Packages with nodes that are tested at the same time, as they mostly wait; the longest begin.
LANES = 3
LONGEST = (LAST, DEVICES, 'soro_cli', 'soro_node', 'soro_flex_calibration', 'soro_haptics')
# A session of its own is a group of its own to the scheduler, which shares the machine between
# groups before it looks at the processes in them.
GIVES_WAY = ('sh', '-c', 'echo 19 >/proc/self/autogroup; exec nice -n 19 "$@"', 'sh')
# Domains whose ports lie below the ephemeral range, and that nobody picks by hand.
DOMAINS = range(50, 100)
TESTS_FAILED = 1
NO_TESTS_COLLECTED = 5
STOOD_STILL = -100  # no exit code of a process
STANDSTILL = 420.0  # s; every test has a time limit of less
COUNTED = ('passed', 'failed', 'errors', 'skipped')


def test_folders(names: list[str]) -> dict[str, Path]:
    """Return the packages to test, in order: name and test folder, which may be missing."""
    found = {f.parent.name: f.parent / 'test' for f in ROOT.glob('src/*/setup.py')}
    found[DEVICES] = ROOT / 'src' / LAST / 'test/devices'
    found['scripts'] = ROOT / 'scripts/test'
    found['studies'] = ROOT / 'studies/test'
    found['examples'] = ROOT / 'examples/test'
    found['tf_transformations'] = ROOT / 'underlay/tf_transformations/test'
    unknown = sorted(set(names) - set(found))
    if unknown:
        sys.exit(f'no such package: {" ".join(unknown)}; there are: {" ".join(sorted(found))}')
    chosen = names or sorted(found)
    return {name: found[name] for name in sorted(chosen, key=lambda n: (n == LAST, n))}


@contextlib.contextmanager
def own_domain():
    """Yield a ROS domain that no other test run on this machine has."""
    start = os.getpid() % len(DOMAINS)
    for domain in [*DOMAINS[start:], *DOMAINS[:start]]:
        with contextlib.ExitStack() as stack:
            try:
                file = stack.enter_context(_open_for_all(domain))
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                continue
            yield domain
            return
    sys.exit(f'all ROS domains from {DOMAINS[0]} to {DOMAINS[-1]} are taken by test runs')


def _open_for_all(domain: int) -> IO[str]:
    path = Path(tempfile.gettempdir(), f'soro_test_domain_{domain}.lock')
    return open(os.open(path, os.O_RDWR | os.O_CREAT, 0o666), 'r+')


def environment(domain: int) -> dict[str, str]:
    """Return the variables of a test process: nothing of a running robot leaks in, or out."""
    result = {k: v for k, v in os.environ.items() if k != '_ROS_WHEELS_BOOTSTRAP_COMPLETE'}
    result['ROS_DOMAIN_ID'] = str(domain)
    data = ROOT / 'out/test_data'
    data.mkdir(parents=True, exist_ok=True)
    result['XDG_DATA_HOME'] = tempfile.mkdtemp(dir=data)  # emergency stops outlive their driver
    result['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
    result['MPLBACKEND'] = 'Agg'
    # One core per solve: the tests share the machine with the nodes they start.
    for name in ('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS'):
        result.setdefault(name, '1')
    for name in ('MAKEFLAGS', 'MAKELEVEL', 'SORO_ROBOT_PATH'):
        result.pop(name, None)
    return result


def counts_in(report: Path) -> dict[str, int]:
    """Read a JUnit report: how many tests passed, failed, errored, were skipped."""
    counts = dict.fromkeys(COUNTED, 0)
    if not report.exists():
        return counts
    for suite in ElementTree.parse(report).getroot().iter('testsuite'):
        counts['failed'] += int(suite.get('failures', 0))
        counts['errors'] += int(suite.get('errors', 0))
        counts['skipped'] += int(suite.get('skipped', 0))
        counts['passed'] += int(suite.get('tests', 0))
    counts['passed'] -= counts['failed'] + counts['errors'] + counts['skipped']
    return counts


@dataclasses.dataclass(frozen=True)
class Part:
    """Tests that one pytest runs: of a package, or of some of it."""

    package: str
    name: str
    folder: Path
    options: list[str]
    files: tuple[Path, ...] = ()  # none: all


@dataclasses.dataclass
class PackageRun:
    """A running pytest of one part; without a process where there is nothing to run."""

    part: Part
    report: Path
    output: IO[str] | None
    process: subprocess.Popen | None
    began: float = dataclasses.field(default_factory=time.monotonic)
    code: int | None = None
    ticks: int = -1
    since: float = 0.0

    def has_ended(self) -> bool:
        """Whether pytest has ended; it is killed when it uses no processor time for STANDSTILL.

        A deadlock inside the middleware (Fast DDS issue 6502) stops the interpreter with all its
        threads, those of pytest's own time limits too.
        """
        if self.code is None:
            self.code = NO_TESTS_COLLECTED if self.process is None else self.process.poll()
        if self.code is None and self.process is not None:
            ticks, now = processor_ticks(self.process.pid), time.monotonic()
            if ticks != self.ticks:
                self.ticks, self.since = ticks, now
            elif now - self.since > STANDSTILL:
                self.process.kill()
                self.process.wait()
                self.code = STOOD_STILL
        return self.code is not None

    def kill(self) -> None:
        """End it, where the whole run is being ended, with what it started in its session."""
        if self.process is not None and self.process.poll() is None:
            if os.getsid(self.process.pid) == self.process.pid:
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.kill()

    def finish(self) -> tuple[int, dict[str, int]]:
        """Wait for the end, show what was held back, return exit code and counts."""
        while not self.has_ended():
            time.sleep(0.1)
        if self.output is not None:
            self.output.seek(0)
            took = time.monotonic() - self.began
            print(f'\n--- {self.part.name} ({took:.0f} s)\n{self.output.read()}', flush=True)
            self.output.close()
        return self.code or 0, counts_in(self.report)


def processor_ticks(pid: int) -> int:
    """Return the processor time a process has used, and its ended children [clock ticks]."""
    fields = Path(f'/proc/{pid}/stat').read_text(encoding='utf-8').rpartition(')')[2].split()
    return sum(map(int, fields[11:15]))


def start_package(
    part: Part, variables: dict[str, str], beside: bool = False, held: bool = False
) -> PackageRun:
    """Start the tests of a part: `beside` on what others leave over of the machine.

    `held` keeps the output for later, as `beside` does.
    """
    name, folder = part.name, part.folder
    report = report_of(name)
    results = report.parent
    results.mkdir(parents=True, exist_ok=True)
    report.unlink(missing_ok=True)
    held |= beside
    print(f'{name} begins' if held else f'\n--- {name}', flush=True)
    if not any(folder.rglob('test_*.py')):
        print(f'{name}: no tests in {folder.relative_to(ROOT)}', flush=True)
        return PackageRun(part, report, None, None)
    command = [*GIVES_WAY] if beside else []
    command += [sys.executable, '-m', 'pytest', '-q']
    command += [str(path.relative_to(ROOT)) for path in part.files or [folder]]
    # The first test of a model also compiles its kernels, here on what the others leave over.
    command += ['-o', 'timeout=1800'] if beside else []
    command += ['--rootdir', str(ROOT), '-c', str(ROOT / 'pyproject.toml')]
    command += ['-o', f'cache_dir={results / name}.cache']
    command += [f'--ignore={folder}/devices'] if part.package == LAST else []
    command += [f'--junit-xml={report}', *part.options]
    output = tempfile.TemporaryFile('w+') if held else None
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=variables,
        stdout=output,
        stderr=subprocess.STDOUT if output else None,
        start_new_session=beside,
    )
    return PackageRun(part, report, output, process)


def report_of(part: str) -> Path:
    """Return the JUnit report of a package, or of one of its halves."""
    return ROOT / f'out/test_results/{part}.xml'


def parts_of(name: str, folder: Path, options: list[str]) -> list[Part]:
    """Return a package in one or two parts: halves of its files, or robots that run alone."""
    if name == LAST:
        return [
            Part(name, name, folder, narrowed(options, f'not {ALONE}')),
            Part(name, f'{name} ({ALONE})', folder, narrowed(options, ALONE)),
        ]
    files = sorted(folder.rglob('test_*.py'))
    if name not in IN_HALVES or len(files) < WORTH_TWO:
        return [Part(name, name, folder, options)]
    half = len(files) // 2
    return [
        Part(name, name, folder, options, tuple(files[:half])),
        Part(name, f'{name} (second half)', folder, options, tuple(files[: half - 1 : -1])),
    ]


def narrowed(options: list[str], expression: str) -> list[str]:
    """Return options of pytest that choose by an expression too."""
    given = [n for n, option in enumerate(options) if option == '-k']
    if not given:
        return [*options, '-k', expression]
    at = given[-1] + 1
    return [*options[:at], f'({options[at]}) and {expression}', *options[at + 1 :]]


def compile_catalogue(variables: dict[str, str]) -> list[concurrent.futures.Future]:
    """Begin to compile the kernels of the catalogue's robots, one on each core.

    A failure is theirs: nodes say it better.
    """
    if not (ROOT / 'src/soro_mechanics').is_dir():
        return []
    start = time.monotonic()

    def compile_robot(robot: str) -> None:
        command = [sys.executable, '-m', 'soro_node.process.warm_up', robot]
        subprocess.run(command, cwd=ROOT, env=variables, stderr=subprocess.DEVNULL, check=False)
        print(f'kernels of {robot} compiled ({time.monotonic() - start:.0f} s)', flush=True)

    pool = concurrent.futures.ThreadPoolExecutor(os.cpu_count())
    robots = sorted(file.stem for file in ROOT.glob('config/robots/*.yaml'))
    return [pool.submit(compile_robot, robot) for robot in robots]


def run_all(folders: dict[str, Path], domain: int, options: dict[str, list[str]]):
    """Yield name, exit code and counts of every part of every package.

    Parts with nodes run in lanes, each with a domain of its own, computation beside them, and
    haptic robots at the end with the machine for themselves.
    """
    ordered = sorted(folders, key=lambda name: LONGEST.index(name) if name in LONGEST else 9)
    parts = [part for name in ordered for part in parts_of(name, folders[name], options[name])]
    alone = [Part(name, name, folders[name], options[name]) for name in folders]
    if len(folders) > 1:
        alone = [part for part in parts if part.name == f'{LAST} ({ALONE})']
        robots = [part for part in parts if part.name == LAST]
        beside = [part for part in parts if part.package in BESIDE]
        waiting = [part for part in parts if part not in (*alone, *robots, *beside)]
        compiling = compile_catalogue(environment(domain)) if robots else []
        with contextlib.ExitStack() as stack:
            lanes = [domain, *(stack.enter_context(own_domain()) for _ in range(LANES - 1))]
            running: dict[int | str, PackageRun] = {}
            stack.callback(lambda: [run.kill() for run in running.values()])
            while waiting or running or robots or beside:
                if all(compiled.done() for compiled in compiling):
                    waiting, robots = [*robots, *waiting], []
                    while beside:
                        part = beside.pop()
                        running[part.name] = start_package(part, environment(domain), beside=True)
                for lane in set(lanes) - running.keys():
                    if waiting:
                        running[lane] = start_package(waiting.pop(0), environment(lane), held=True)
                for lane in [lane for lane, run in running.items() if run.has_ended()]:
                    run = running.pop(lane)
                    yield run.part, *run.finish()
                time.sleep(0.1)
    for part in alone:
        yield part, *start_package(part, environment(domain)).finish()


def failed_in(part: str) -> dict[str, str]:
    """Read the JUnit report of a part: the tests that failed, and the first line of why."""
    found = {}
    for case in ElementTree.parse(report_of(part)).getroot().iter('testcase'):
        why = [*case.iter('failure'), *case.iter('error')]
        if why:
            first = (why[0].get('message') or '').partition('\n')[0]
            found[f'{case.get("classname")}.{case.get("name")}'] = first[:400]
    return found


def may_repeat(part: Part) -> bool:
    """Whether what failed in a part had deadlines that a busy computer may miss."""
    failed = failed_in(part.name)
    late = all(any(f'.{file}.' in test for file in WITH_DEADLINES) for test in failed)
    return late or part.package not in BESIDE


def repeat(part: Part, domain: int) -> tuple[dict[str, str], dict[str, int]]:
    """Run a part's failed tests once more, alone; these with their reasons, and the new counts."""
    failed = failed_in(part.name)
    print(f'\nonce more, alone: {" ".join(failed)}', flush=True)
    again = [*part.options, '--last-failed', '--last-failed-no-failures=none']
    _, counts = start_package(
        dataclasses.replace(part, options=again), environment(domain)
    ).finish()
    return failed, counts


def main() -> int:
    """Run the tests; return 0 only when every package had tests and all passed."""
    arguments = [a for a in sys.argv[1:] if a != '--smoke']
    cut = arguments.index('--') if '--' in arguments else len(arguments)
    folders, options = test_folders(arguments[:cut]), arguments[cut + 1 :]
    # A filter of tests may leave nothing in a package; without one that is a failure.
    filtered = any(re.match(r'-[km]', option) for option in options)
    per_package = {name: list(options) for name in folders}
    if '--smoke' in sys.argv and LAST in folders:
        per_package[LAST] += ['-k', 'smoke']
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    start, total, bad, second = time.monotonic(), dict.fromkeys(COUNTED, 0), {}, []
    needed: dict[str, str] = {}
    stuck: list[Part] = []
    with own_domain() as domain:
        print(f'ROS_DOMAIN_ID={domain}', flush=True)
        for part, code, counts in run_all(folders, domain, per_package):
            name = part.name
            total = {key: total[key] + counts[key] for key in COUNTED}
            if code == NO_TESTS_COLLECTED and not filtered and part.package != LAST:
                bad[name] = 'no tests'
            elif code not in (0, NO_TESTS_COLLECTED):
                bad[name] = f'pytest ended with {code}'
                if code == STOOD_STILL:
                    bad[name] = f'pytest stood still for {STANDSTILL:g} s and was killed'
                    stuck.append(part)
                if code == TESTS_FAILED and may_repeat(part):
                    second.append((part, counts))
        for part in stuck:
            print(f'\n{bad[part.name]}; once more, alone: {part.name}', flush=True)
            code, counts = start_package(part, environment(domain)).finish()
            total = {key: total[key] + counts[key] for key in COUNTED}
            if code == 0:
                del bad[part.name]
                needed[f'all of {part.name}'] = 'stood still'
        for part, counts in second:
            failed, repeated = repeat(part, domain)
            if repeated['passed'] == len(failed) == counts['failed'] + counts['errors']:
                del bad[part.name]
                total['passed'] += len(failed)
                total['failed'] -= counts['failed']
                total['errors'] -= counts['errors']
                needed |= failed
            else:
                again = failed_in(part.name) or failed
                bad[part.name] = ''.join(f'\n  {test}: {why}' for test, why in again.items())
    if not total['passed'] and not bad:
        bad['all'] = 'no test passed'
    print('\n' + ''.join(f'FAILED {name}: {why}\n' for name, why in bad.items()), end='')
    for test, why in needed.items():
        print(f'passed in a second run only: {test}: {why}')
    text = ', '.join(f'{total[key]} {key}' for key in COUNTED if total[key] or key == 'passed')
    print(f' {text} in {time.monotonic() - start:.2f}s '.center(79, '='), flush=True)
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
