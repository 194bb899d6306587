#!/usr/bin/env python3
# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Run the tests of all packages, one pytest per package, whole robots last.

Called by `make test` with the workspace's environment. Packages are given by name, without any all
of them run; what follows `--` goes to pytest. A package without a test that ran fails the run.
The tests of drivers with their emulators (soro_system_tests/test/devices) run as soro_devices.
With --smoke the whole robots are only those of the tests named *smoke*.

Nodes, drivers, emulated devices and compiling processes have deadlines, and the machine may stand
still for a moment (another load, a host that rations time). What fails there is run once more at
the end, alone; what fails twice fails, and a pytest that stands still is killed and run again. The
summary names what needed its second run, and why: it is not fine.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
import contextlib
import dataclasses
import itertools
import os
from pathlib import Path
import re
import subprocess
import sys
import tempfile
import time
from typing import IO
import xml.etree.ElementTree as ElementTree

from soro_rigs.domains import free_domain

ROOT = Path(__file__).resolve().parent.parent
LAST = 'soro_system_tests'
# Its tests of drivers with their emulators; they need no machine for themselves.
DEVICES = 'soro_devices'
# Pure computation: it fills the time in which the nodes' tests wait, in two processes. What it
# does not get then is there for whole robots, beside which a core would be idle.
BESIDE = ('soro_mechanics',)
# The same on what all others leave over: it never runs when one of them wants to.
IDLE = ('studies',)
GIVES_WAY = dict.fromkeys(BESIDE, ('nice', '-n', '15'))
GIVES_WAY |= dict.fromkeys(IDLE, ('chrt', '--idle', '0'))
# Among the first, what waits for other processes; computation alone has no second chance.
WITH_DEADLINES = (
    'test_first_calls',
    'test_kernels',
    'test_numba_start',
    'test_without_compilation',
)
PARTS = {**dict.fromkeys(GIVES_WAY, 2), DEVICES: 3}
WORTH_PARTS = 15  # files


def part_name(name: str, part: int) -> str:
    """Return the name of one of the parts of a package, from 1."""
    return f'{name} ({part} of {PARTS[name]})'


# They wait most of their time: two at a time beside whole robots, which do not need all.
COMMANDS = f'{LAST} (commands)'
OF_COMMANDS = ('test_bench_protocols.py', 'test_documented_run.py')
LIGHT = (
    COMMANDS,
    'soro_trajectory',
    'soro_node',
    'soro_flex_calibration',
    'soro_kinematics',
    'soro_visualization',
    'soro_compliance',
    'soro_recording',
    'examples',
)
AT_A_TIME = 2
# Packages with nodes that are tested at the same time, as they mostly wait; the longest begin.
LANES = 4
LONGEST = (
    part_name(DEVICES, 1),
    part_name(DEVICES, 2),
    'soro_cli',
    'scripts',
    part_name(DEVICES, 3),
    'soro_haptics',
    'soro_nidaq_driver',
    'soro_can_driver',
    'soro_driver',
    *LIGHT,
)
TESTS_FAILED = 1
NO_TESTS_COLLECTED = 5
STOOD_STILL = -100  # no exit code of a process
STANDSTILL = 420.0  # s; every test has a time limit of less
# Of pytest; what colcon asks for besides costs every one of them a third of a second.
PLUGINS = ('pytest_timeout', '_hypothesis_pytestplugin')
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


def environment(domain: int) -> dict[str, str]:
    """Return the variables of a test process: nothing of a running robot leaks in, or out."""
    result = {k: v for k, v in os.environ.items() if k != '_ROS_WHEELS_BOOTSTRAP_COMPLETE'}
    result['ROS_DOMAIN_ID'] = str(domain)
    data = ROOT / 'out/test_data'
    data.mkdir(parents=True, exist_ok=True)
    result['XDG_DATA_HOME'] = tempfile.mkdtemp(dir=data)  # emergency stops outlive their driver
    result['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
    result['MPLBACKEND'] = 'Agg'
    result |= {'PYTEST_DISABLE_PLUGIN_AUTOLOAD': '1', 'PYTEST_PLUGINS': ','.join(PLUGINS)}
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


@dataclasses.dataclass
class PackageRun:
    """A running pytest of one package; without a process where there is nothing to run."""

    name: str
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
        if self.process is None:
            self.code = NO_TESTS_COLLECTED
        elif self.code is None:
            ticks, now = processor_ticks(self.process.pid), time.monotonic()
            self.code = self.process.poll()
            if ticks != self.ticks:
                self.ticks, self.since = ticks, now
            elif self.code is None and now - self.since > STANDSTILL:
                self.process.kill()
                self.process.wait()
                self.code = STOOD_STILL
        return self.code is not None

    def stand_back(self) -> None:
        """Run only when nobody else wants to, from now on."""
        if self.process is not None:  # not waited for here: its times are read where it ends
            with contextlib.suppress(ProcessLookupError):
                os.sched_setscheduler(self.process.pid, os.SCHED_IDLE, os.sched_param(0))

    def finish(self) -> tuple[int, dict[str, int]]:
        """Wait for the end, show what was held back, return exit code and counts."""
        while not self.has_ended():
            time.sleep(0.1)
        if self.output is not None:
            self.output.seek(0)
            print(f'\n--- {self.name}\n{self.output.read()}', flush=True)
            self.output.close()
        work = max(self.ticks, 0) / os.sysconf('SC_CLK_TCK')
        took = time.monotonic() - self.began
        print(f'{self.name} took {took:.0f} s and {work:.0f} s of processor time', flush=True)
        return self.code or 0, counts_in(self.report)


def processor_ticks(pid: int) -> int:
    """Return the processor time a process has used, and its ended children [clock ticks]."""
    fields = Path(f'/proc/{pid}/stat').read_text(encoding='utf-8').rpartition(')')[2].split()
    return sum(map(int, fields[11:15]))


def start_package(
    name: str,
    folder: Path,
    variables: dict[str, str],
    options: list[str],
    beside: bool,
    held: bool = False,
    files: Sequence[Path] = (),
) -> PackageRun:
    """Start a package's tests, or those in some files: `beside` others it gives way to them.

    `held` keeps the output for later, as `beside` does.
    """
    report = report_of(name)
    results = report.parent
    results.mkdir(parents=True, exist_ok=True)
    report.unlink(missing_ok=True)
    held |= beside
    print(f'{name} begins' if held else f'\n--- {name}', flush=True)
    if not any(folder.rglob('test_*.py')):
        print(f'{name}: no tests in {folder.relative_to(ROOT)}', flush=True)
        return PackageRun(name, report, None, None)
    command = [*GIVES_WAY[package_of(name)]] if beside else []
    command += [sys.executable, '-m', 'pytest', '-q']
    command += [str(path.relative_to(ROOT)) for path in files or [folder]]
    # The first test of a model also compiles its kernels, here on what the others leave over.
    command += ['-o', 'timeout=900'] if beside else []
    command += ['--rootdir', str(ROOT), '-c', str(ROOT / 'pyproject.toml')]
    command += ['-o', f'cache_dir={results / name}.cache']
    command += [f'--ignore={folder}/devices'] if package_of(name) == LAST else []
    command += [f'--junit-xml={report}', *options]
    output = tempfile.TemporaryFile('w+') if held else None
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=variables,
        stdout=output,
        stderr=subprocess.STDOUT if output else None,
    )
    return PackageRun(name, report, output, process)


def report_of(part: str) -> Path:
    """Return the JUnit report of a package, or of one of its parts."""
    return ROOT / f'out/test_results/{part}.xml'


def package_of(part: str) -> str:
    """Return the package of a part, see `parts_of`."""
    return part.split()[0]


def parts_of(name: str, folder: Path) -> dict[str, list[Path]]:
    """Return the test files of a package in one or more parts, by the name of each."""
    files = sorted(folder.rglob('test_*.py'))
    if name == LAST:
        files = [file for file in files if 'devices' not in file.parts]
        typed = [file for file in files if file.name in OF_COMMANDS]
        whole = {name: sorted(set(files) - set(typed))}
        return {**whole, COMMANDS: typed} if typed else {name: []}
    if name not in PARTS or len(files) < WORTH_PARTS:
        return {name: []}
    count = PARTS[name]
    cuts = [len(files) * part // count for part in range(count + 1)]
    return {
        part_name(name, part): files[begin:end]
        for part, (begin, end) in enumerate(itertools.pairwise(cuts), 1)
    }


def run_all(folders: dict[str, Path], domain: int, options: dict[str, list[str]]):
    """Yield name, exit code and counts of every package.

    What gives way to the others begins with them, and may end after them.
    """
    giving = [name for name in folders if name in GIVES_WAY and LAST in folders]
    with free_domain() as other:
        computing = {}
        for name in giving:
            for part, files in parts_of(name, folders[name]).items():
                of = folders[name], environment(other), options[name]
                computing[part] = start_package(part, *of, True, files=files)
        others = {name: folder for name, folder in folders.items() if name not in giving}
        yield from run_others(others, domain, options, computing.values())
        for name, run in computing.items():
            yield name, *run.finish()


def run_others(
    folders: dict[str, Path],
    domain: int,
    options: dict[str, list[str]],
    beside: Iterable[PackageRun],
):
    """Yield name, exit code and counts of every package.

    Packages with nodes run in lanes, each with a domain of its own. At the end come whole robots,
    and with them only a few light ones: what runs `beside` stands back.
    """
    parts = [
        (name, part, files)
        for name, folder in folders.items()
        for part, files in parts_of(name, folder).items()
    ]
    order = {name: place for place, name in enumerate(LONGEST)}
    parts.sort(key=lambda part: min(order.get(word, len(order)) for word in part[:2]))
    whole = [part for part in parts if part[1] == LAST]
    late = [part for part in parts if part[1] in LIGHT and whole]
    first = [part for part in parts if part not in whole and part not in late]
    running: dict[int, PackageRun] = {}
    with contextlib.ExitStack() as stack:
        lanes = [domain, *(stack.enter_context(free_domain()) for _ in range(LANES - 1))]
        while first or late or whole or running:
            for lane in set(lanes) - running.keys():
                light = [run for run in running.values() if run.name in LIGHT]
                if whole and not first and len(light) == len(running):
                    for run in beside:
                        run.stand_back()
                    next_ones = whole
                elif late and not first and len(light) < AT_A_TIME:
                    next_ones = late
                else:
                    next_ones = first
                if next_ones:
                    name, part, files = next_ones.pop(0)
                    held = len(parts) > 1 and part != LAST
                    of = folders[name], environment(lane), options[name]
                    running[lane] = start_package(part, *of, False, held=held, files=files)
            for lane in [lane for lane, run in running.items() if run.has_ended()]:
                run = running.pop(lane)
                yield run.name, *run.finish()
            time.sleep(0.1)


def failed_in(part: str) -> dict[str, str]:
    """Read the JUnit report of a part: the tests that failed, and the first line of why."""
    found: dict[str, str] = {}
    report = report_of(part)
    if not report.exists():  # pytest was killed
        return found
    for case in ElementTree.parse(report).getroot().iter('testcase'):
        why = [*case.iter('failure'), *case.iter('error')]
        if why:
            first = (why[0].get('message') or '').partition('\n')[0]
            found[f'{case.get("classname")}.{case.get("name")}'] = first[:400]
    return found


def again_in(part: str) -> dict[str, str]:
    """Read from a JUnit report which tests were made again where something was held up."""
    report = report_of(part)
    cases = ElementTree.parse(report).getroot().iter('testcase') if report.exists() else ()
    return {
        f'{case.get("classname")}.{case.get("name")}': (each.get('value') or '')[:400]
        for case in cases
        for each in case.iter('property')
        if each.get('name') == 'again'
    }


def may_repeat(name: str) -> bool:
    """Whether what failed in a part had deadlines that a busy computer may miss."""
    failed = failed_in(name)
    late = all(any(f'.{file}.' in test for file in WITH_DEADLINES) for test in failed)
    return late or package_of(name) not in BESIDE


def repeat(
    name: str, folder: Path, domain: int, options: list[str]
) -> tuple[dict[str, str], dict[str, int]]:
    """Run a part's failed tests once more, alone; these with their reasons, and the new counts."""
    failed = failed_in(name)
    print(f'\nonce more, alone: {" ".join(failed)}', flush=True)
    again = [*options, '--last-failed', '--last-failed-no-failures=none']
    _, counts = start_package(name, folder, environment(domain), again, False).finish()
    return failed, counts


def main() -> int:
    """Run the tests; return 0 only when every package had tests and all passed."""
    arguments = [a for a in sys.argv[1:] if a != '--smoke']
    cut = arguments.index('--') if '--' in arguments else len(arguments)
    folders, options = test_folders(arguments[:cut]), arguments[cut + 1 :]
    # A filter of tests may leave nothing in a package; without one that is a failure.
    filtered = '--smoke' in sys.argv or any(re.match(r'-[km]', option) for option in options)
    per_package = {name: list(options) for name in folders}
    if '--smoke' in sys.argv and LAST in folders:
        per_package[LAST] += ['-k', 'smoke']
    start, total, bad, second = time.monotonic(), dict.fromkeys(COUNTED, 0), {}, []
    needed: dict[str, str] = {}
    held: dict[str, str] = {}
    stuck: list[str] = []
    with free_domain() as domain:
        print(f'ROS_DOMAIN_ID={domain}', flush=True)
        for name, code, counts in run_all(folders, domain, per_package):
            total = {key: total[key] + counts[key] for key in COUNTED}
            held |= again_in(name)
            if code == NO_TESTS_COLLECTED and not filtered:
                bad[name] = 'no tests'
            elif code not in (0, NO_TESTS_COLLECTED):
                bad[name] = f'pytest ended with {code}'
                if code == STOOD_STILL:
                    bad[name] = f'pytest stood still for {STANDSTILL:g} s and was killed'
                    stuck.append(name)
                if code == TESTS_FAILED and may_repeat(name):
                    second.append((name, counts))
        for name in stuck:
            print(f'\n{bad[name]}; once more, alone: {name}', flush=True)
            variables = environment(domain)
            of = package_of(name)
            run = start_package(name, folders[of], variables, per_package[of], False)
            code, counts = run.finish()
            total = {key: total[key] + counts[key] for key in COUNTED}
            if code == 0:
                del bad[name]
                needed[f'all of {name}'] = 'stood still'
        for name, counts in second:
            of = package_of(name)
            failed, repeated = repeat(name, folders[of], domain, per_package[of])
            if repeated['passed'] == len(failed) == counts['failed'] + counts['errors']:
                del bad[name]
                total['passed'] += len(failed)
                total['failed'] -= counts['failed']
                total['errors'] -= counts['errors']
                needed |= failed
            else:
                again = failed_in(name) or failed
                bad[name] = ''.join(f'\n  {test}: {why}' for test, why in again.items())
    if not total['passed'] and not bad:
        bad['all'] = 'no test passed'
    print('\n' + ''.join(f'FAILED {name}: {why}\n' for name, why in bad.items()), end='')
    for test, why in held.items():
        print(f'{test}: {why}')
    for test, why in needed.items():
        print(f'passed in a second run only: {test}: {why}')
    text = ', '.join(f'{total[key]} {key}' for key in COUNTED if total[key] or key == 'passed')
    print(f' {text} in {time.monotonic() - start:.2f}s '.center(79, '='), flush=True)
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
