# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The test runner is honest: counts, domains of its own, no tests is a failure."""

import json
from pathlib import Path
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest
import run_tests

PLUGINS = run_tests.PLUGINS


@pytest.fixture(autouse=True)
def few_plugins(monkeypatch):
    """Start the many pytests of these tests without Hypothesis, a third of a start."""
    monkeypatch.setattr(run_tests, 'PLUGINS', PLUGINS[:1])


def test_counts_come_from_the_report(tmp_path):
    report = tmp_path / 'report.xml'
    report.write_text(
        '<testsuites><testsuite tests="7" failures="1" errors="2" skipped="1"/></testsuites>'
    )
    assert run_tests.counts_in(report) == {'passed': 3, 'failed': 1, 'errors': 2, 'skipped': 1}
    assert run_tests.counts_in(tmp_path / 'none.xml')['passed'] == 0


def test_package_without_tests_fails(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(run_tests, 'ROOT', tmp_path)
    monkeypatch.setattr(run_tests, 'test_folders', lambda names: {'soro_a': tmp_path / 'test'})
    monkeypatch.setattr('sys.argv', ['run_tests.py'])
    assert run_tests.main() == 1
    assert 'FAILED soro_a: no tests' in capsys.readouterr().out


def test_failing_test_fails_the_run(tmp_path, monkeypatch, capsys):
    (tmp_path / 'pyproject.toml').write_text('[tool.pytest.ini_options]\n')
    (tmp_path / 'test').mkdir()
    file = tmp_path / 'test/test_it.py'
    file.write_text('def test_it():\n    assert False\n')
    monkeypatch.setattr(run_tests, 'ROOT', tmp_path)
    monkeypatch.setattr(run_tests, 'test_folders', lambda names: {'soro_a': tmp_path / 'test'})
    monkeypatch.setattr('sys.argv', ['run_tests.py'])
    assert run_tests.main() == 1
    assert '0 passed, 1 failed' in capsys.readouterr().out
    file.write_text('def test_it():\n    assert True\n')
    assert run_tests.main() == 0
    assert '1 passed in' in capsys.readouterr().out


def test_whole_robots_come_last():
    assert list(run_tests.test_folders([]))[-1] == run_tests.LAST


def test_the_devices_run_in_their_own_lane_and_only_there(tmp_path, monkeypatch):
    devices = tmp_path / 'src' / run_tests.LAST / 'test/devices'
    devices.mkdir(parents=True)
    (devices.parent / 'test_whole.py').write_text('def test_whole():\n    pass\n')
    (devices / 'test_one.py').write_text('def test_one():\n    pass\n')
    (devices.parents[1] / 'setup.py').touch()
    (tmp_path / 'pyproject.toml').touch()
    monkeypatch.setattr(run_tests, 'ROOT', tmp_path)
    monkeypatch.setattr('sys.argv', ['run_tests.py', run_tests.DEVICES, run_tests.LAST])
    assert run_tests.main() == 0
    for name, test in ((run_tests.DEVICES, 'test_one'), (run_tests.LAST, 'test_whole')):
        report = ElementTree.parse(tmp_path / f'out/test_results/{name}.xml')
        assert [case.get('name') for case in report.iter('testcase')] == [test]


def run_packages(tmp_path, monkeypatch, bodies):
    """Run a workspace of packages, each with one file of tests; returns the exit code."""
    (tmp_path / 'pyproject.toml').write_text('[tool.pytest.ini_options]\n')
    folders = {name: tmp_path / name for name in bodies}
    for name, body in bodies.items():
        folders[name].mkdir()
        (folders[name] / f'test_{name}.py').write_text(body)
    monkeypatch.setattr(run_tests, 'ROOT', tmp_path)
    monkeypatch.setattr(run_tests, 'test_folders', lambda names: folders)
    monkeypatch.setattr('sys.argv', ['run_tests.py'])
    return run_tests.main()


def test_pytest_loads_what_tests_need_and_no_more(tmp_path, monkeypatch):
    monkeypatch.setattr(run_tests, 'PLUGINS', PLUGINS)
    needed = ' and '.join(f'found("{name}")' for name in PLUGINS)
    body = f"""def test_it(pytestconfig):
    found = pytestconfig.pluginmanager.hasplugin
    assert {needed}
    assert not found('cov') and not found('pytest_cov')
"""
    assert run_packages(tmp_path, monkeypatch, {'soro_a': body}) == 0


def test_package_beside_counts_and_shows_its_output(tmp_path, monkeypatch, capsys):
    bodies = {
        name: f'def test_it():\n    assert {check}\n'
        for name, check in (('soro_a', 'True'), ('soro_mechanics', 'False'))
    }
    assert run_packages(tmp_path, monkeypatch, bodies) == 1
    printed = capsys.readouterr().out
    assert 'FAILED soro_mechanics: pytest ended with 1' in printed
    assert 'assert False' in printed
    assert '1 passed, 1 failed' in printed


def test_computation_never_runs_when_others_want_to_and_begins_with_them(tmp_path, monkeypatch):
    idle = (
        'def test_it():\n'
        '    assert os.sched_getscheduler(0) == os.SCHED_IDLE\n'
        "    pathlib.Path('mark').write_text(os.environ['ROS_DOMAIN_ID'])\n"
    )
    beside_it = (
        'def test_it():\n'
        '    assert os.sched_getscheduler(0) == os.sched_getscheduler(os.getppid())\n'
        '    end = time.monotonic() + 240.0\n'
        "    while not (mark := pathlib.Path('mark')).exists() or not mark.read_text():\n"
        '        assert time.monotonic() < end\n'
        '        threading.Event().wait(0.05)\n'
        "    assert mark.read_text() != os.environ['ROS_DOMAIN_ID']\n"
    )
    bodies = {'studies': idle} | dict.fromkeys(('soro_a', 'soro_b', run_tests.LAST), beside_it)
    head = 'import os, pathlib, threading, time\n'
    bodies = {name: head + body for name, body in bodies.items()}
    assert run_packages(tmp_path, monkeypatch, bodies) == 0


def test_what_still_computes_when_whole_robots_begin_stands_back(tmp_path, monkeypatch):
    head = (
        'import os, pathlib, threading, time\n'
        'def wait(name):\n'
        '    end = time.monotonic() + 240.0\n'
        '    while not pathlib.Path(name).exists():\n'
        '        assert time.monotonic() < end\n'
        '        threading.Event().wait(0.05)\n'
        'def test_it():\n'
    )
    computing = (
        '    assert os.sched_getscheduler(0) != os.SCHED_IDLE\n'
        "    pathlib.Path('begun').touch()\n"
        "    wait('whole')\n"
        '    assert os.sched_getscheduler(0) == os.SCHED_IDLE\n'
    )
    bodies = {'soro_mechanics': computing, run_tests.LAST: "    pathlib.Path('whole').touch()\n"}
    bodies |= dict.fromkeys(('soro_a', 'soro_b'), "    wait('begun')\n")
    bodies = {name: head + body for name, body in bodies.items()}
    assert run_packages(tmp_path, monkeypatch, bodies) == 0


UNSTEADY = """
from pathlib import Path

def test_unsteady():
    mark = Path(__file__).with_name('mark')
    runs = len(mark.read_text()) if mark.exists() else 0
    mark.write_text('x' * (runs + 1))
    assert runs >= {needed}

def test_steady():
    assert True
"""


def run_one(tmp_path, monkeypatch, name, needed):
    (tmp_path / 'pyproject.toml').write_text('[tool.pytest.ini_options]\n')
    folder = tmp_path / name / 'test'
    folder.mkdir(parents=True)
    (folder / f'test_{name}.py').write_text(UNSTEADY.format(needed=needed))
    monkeypatch.setattr(run_tests, 'ROOT', tmp_path)
    monkeypatch.setattr(run_tests, 'test_folders', lambda names: {name: folder})
    monkeypatch.setattr('sys.argv', ['run_tests.py'])
    return run_tests.main(), len((folder / 'mark').read_text())


def test_what_fails_once_is_repeated_alone_and_named(tmp_path, monkeypatch, capsys):
    assert run_one(tmp_path, monkeypatch, 'soro_a', 1) == (0, 2)
    printed = capsys.readouterr().out
    assert 'passed in a second run only: soro_a.test.test_soro_a.test_unsteady' in printed
    assert ' 2 passed in' in printed


def test_what_fails_twice_fails(tmp_path, monkeypatch, capsys):
    assert run_one(tmp_path, monkeypatch, 'soro_a', 2) == (1, 2)
    assert '1 passed, 1 failed' in capsys.readouterr().out


def test_what_was_judged_by_another_attempt_is_said(tmp_path, monkeypatch, capsys):
    body = "def test_it(record_property):\n    record_property('again', 'held up for 0.50 s')\n"
    assert run_packages(tmp_path, monkeypatch, {'soro_a': body}) == 0
    assert 'test_it: held up for 0.50 s' in capsys.readouterr().out


def test_computation_has_no_second_chance(tmp_path, monkeypatch):
    assert run_one(tmp_path, monkeypatch, 'soro_mechanics', 1) == (1, 1)


def test_a_pytest_that_stands_still_is_killed_and_run_again(tmp_path, monkeypatch, capsys):
    (tmp_path / 'pyproject.toml').write_text('[tool.pytest.ini_options]\n')
    (tmp_path / 'test').mkdir()
    mark = tmp_path / 'mark'
    (tmp_path / 'test/test_it.py').write_text(
        'import pathlib, signal, threading\n'
        f'mark = pathlib.Path({str(mark)!r})\n'
        'def test_it():\n'
        '    if not mark.exists():\n'
        '        mark.touch()\n'
        '        threading.Event().wait()\n'
    )
    monkeypatch.setattr(run_tests, 'ROOT', tmp_path)
    monkeypatch.setattr(run_tests, 'test_folders', lambda names: {'soro_a': tmp_path / 'test'})
    monkeypatch.setattr(run_tests, 'STANDSTILL', 2.0)
    monkeypatch.setattr('sys.argv', ['run_tests.py'])
    assert run_tests.main() == 0
    said = capsys.readouterr().out
    assert 'stood still' in said and 'all of soro_a: stood still' in said


def test_who_works_is_not_taken_for_one_who_stands_still(monkeypatch):
    code = 'import time\nend = time.monotonic() + 4.0\nwhile time.monotonic() < end: pass'
    process = subprocess.Popen([sys.executable, '-c', code])
    run = run_tests.PackageRun('soro_a', Path('none'), None, process)
    monkeypatch.setattr(run_tests, 'STANDSTILL', 1.5)
    assert run.finish()[0] == 0


@pytest.mark.parametrize('package', run_tests.PARTS)
def test_the_parts_of_a_package_are_the_whole(tmp_path, package):
    names = [f'test_{k:02}.py' for k in range(run_tests.WORTH_PARTS + 1)]
    for name in names:
        (tmp_path / name).touch()
    parts = run_tests.parts_of(package, tmp_path)
    assert len(parts) == run_tests.PARTS[package] > 1
    assert set(map(run_tests.package_of, parts)) == {package}
    assert sorted(file.name for part in parts.values() for file in part) == names


def test_two_lanes_share_no_domain_and_keep_the_machine_for_whole_robots(tmp_path, monkeypatch):
    (tmp_path / 'pyproject.toml').write_text('[tool.pytest.ini_options]\n')
    code = (
        'import json, os, pathlib, threading, time\n'
        'def test_it():\n'
        '    begin = time.time()\n'
        '    threading.Event().wait(2.0)\n'
        "    found = [os.environ['ROS_DOMAIN_ID'], begin, time.time()]\n"
        "    pathlib.Path(__file__).with_suffix('.json').write_text(json.dumps(found))\n"
    )
    folders = {}
    for name in ('soro_a', 'soro_b', run_tests.LAST):
        folders[name] = tmp_path / name
        folders[name].mkdir()
        (folders[name] / f'test_{name}.py').write_text(code)
    monkeypatch.setattr(run_tests, 'ROOT', tmp_path)
    monkeypatch.setattr(run_tests, 'test_folders', lambda names: folders)
    monkeypatch.setattr('sys.argv', ['run_tests.py'])
    assert run_tests.main() == 0
    (a, begin_a, end_a), (b, begin_b, end_b), (_, begin_last, _) = (
        json.loads((folder / f'test_{name}.json').read_text()) for name, folder in folders.items()
    )
    assert a != b
    assert begin_a < end_b and begin_b < end_a
    assert begin_last > max(end_a, end_b)
