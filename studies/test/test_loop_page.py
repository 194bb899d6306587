# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Results of the loop study are kept one by one, and the page says whether they are as asked."""

import json
import os
import subprocess
import sys
import time

from soro_studies.haptics import computer_load, loop_study
from soro_studies.haptics.__main__ import main
from soro_studies.haptics.computer_load import LoadMeter, realtime_share
from soro_studies.haptics.loop_page import keep, read_kept, write_loop_page
from soro_studies.haptics.loop_study import LoopResult
from soro_studies.haptics.stall_meter import StallMeter, stalls_in_words

TIMING = {
    'compute_p50_ms': '0.34',
    'compute_p99_ms': '0.8',
    'compute_p99.9_ms': '1.2',
    'compute_max_ms': '3.0',
}


def result(missed=0, note='', **timing):
    return LoopResult(
        60.0, 50, 30000 - missed, missed, {'timing': {**TIMING, **timing}}, note=note
    )


def test_a_run_replaces_its_own_result_only(tmp_path):
    page = tmp_path / 'arm_loop.md'
    store = page.with_suffix('.json')
    assert read_kept(store) == {}
    keep(store, 'can', result())
    keep(store, 'fd', result(missed=300))
    keep(store, 'can', result(missed=6))
    write_loop_page('arm', page)
    text = page.read_text()
    assert '29994 ticks, 6 slots missed (0.020%): as asked' in text
    assert '300 slots missed (1.000%): NOT as asked: not below 0.1%' in text
    assert 'over topics' not in text
    assert [p.name for p in tmp_path.iterdir()] in (
        ['arm_loop.md', 'arm_loop.json'],
        ['arm_loop.json', 'arm_loop.md'],
    )


def test_what_is_too_slow_or_failed_is_said(tmp_path):
    page = tmp_path / 'arm_loop.md'
    keep(page.with_suffix('.json'), 'fd', result(note='no renderer', compute_p99_ms='1.5'))
    write_loop_page('arm', page)
    text = page.read_text()
    assert 'Did not go through: no renderer.' in text
    assert 'NOT as asked: computation p99 above 1 ms' in text


def test_the_page_can_be_written_without_measuring(tmp_path, capsys):
    (tmp_path / 'evidence').mkdir()
    keep(tmp_path / 'evidence' / 'haptic_5dof_loop.json', 'can', result())
    assert main(['loop', '--runs', '--docs', str(tmp_path)]) == 0
    assert '500 Hz, classic CAN' in (tmp_path / 'evidence' / 'haptic_5dof_loop.md').read_text()
    assert capsys.readouterr().out.strip().endswith('haptic_5dof_loop.md')


def test_what_the_kernel_leaves_to_real_time_threads_is_said(tmp_path, monkeypatch):
    texts = {'runtime': '950000', 'period': '1000000'}
    monkeypatch.setattr(
        computer_load.Path, 'read_text', lambda path, **_: texts[path.name.split('_')[2]]
    )
    assert realtime_share() == 0.95
    texts['runtime'] = '-1'
    assert realtime_share() == 1.0
    texts['runtime'] = 'none'
    assert realtime_share() is None
    monkeypatch.undo()
    monkeypatch.setattr(loop_study, 'realtime_share', lambda: 0.95)
    page = tmp_path / 'arm_loop.md'
    keep(page.with_suffix('.json'), 'can', result())
    write_loop_page('arm', page)
    assert 'real-time threads fill 95% of every second' in page.read_text()


def test_own_children_are_no_others():
    meter = LoadMeter()
    burn = 'import time; e = time.process_time() + 1.0\nwhile time.process_time() < e: pass'
    subprocess.run([sys.executable, '-c', burn], check=True)
    own = meter._ours() - meter._begin[3]
    assert own >= 1.0
    others, stolen = meter.read()
    assert 0.0 <= others <= os.cpu_count()
    assert 0.0 <= stolen <= os.cpu_count()


def test_stalls_of_the_computer_are_said_beside_what_was_missed(tmp_path):
    page = tmp_path / 'arm_loop.md'
    found = result(missed=40)
    found.stalls = ((0, 10.0, 10.051, 0.05), (1, 10.01, 10.02, 0.0), (1, 30.0, 30.0031, 0.0))
    keep(page.with_suffix('.json'), 'can', found)
    write_loop_page('arm', page)
    # 51 ms in slots of 2 ms; the second stall lies within the first.
    assert 'stood still 3 times, at most 51.0 ms' in page.read_text()
    assert '1 times because the kernel ran others' in page.read_text()
    assert 'up to 28 slots from any program; 40 were missed' in page.read_text()
    found.stalls = ()
    keep(page.with_suffix('.json'), 'can', found)
    write_loop_page('arm', page)
    assert 'never stood still' in page.read_text()


def test_a_core_that_is_taken_away_is_noticed():
    """Somebody of a still higher priority keeps one core for 30 ms; without the right, nothing."""
    meter, core = StallMeter(), min(os.sched_getaffinity(0))
    if not may_use_priorities():
        assert meter.stop() is None
        return
    hold = (
        f'import os, time; os.sched_setaffinity(0, {{{core}}}); '
        'os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(95)); '
        'e = time.monotonic() + 0.03\nwhile time.monotonic() < e: pass'
    )
    meter.start()
    try:
        meter.wait_until_watching(30.0)
        begin = time.monotonic()
        subprocess.run([sys.executable, '-I', '-S', '-c', hold], check=True)
        end = time.monotonic()
    finally:
        stalls = meter.stop()
    assert stalls is not None
    seen = [s for s in stalls.spans if s[0] == core and begin < s[2] < end + 0.01]
    _, late_from, late_to, queued = max(seen, key=lambda s: s[2] - s[1])
    assert late_to - late_from > 0.025
    assert queued > 0.02


def may_use_priorities():
    code = 'import os; os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(95))'
    return subprocess.run([sys.executable, '-c', code], capture_output=True).returncode == 0


def test_nobody_watched_nothing_said():
    assert stalls_in_words(None, 2e-3, 5) == ''
    assert StallMeter().stop() is None


def test_memory_is_kept_where_that_is_allowed():
    code = (
        'from soro_haptics.real_time import lock_memory\nallowed = lock_memory()\n'
        'status = open("/proc/self/status").read()\n'
        'locked = int(status.partition("VmLck:")[2].split()[0])\n'
        'raise SystemExit(allowed != (locked > 0))'
    )
    assert subprocess.run([sys.executable, '-c', code]).returncode == 0


def test_what_the_device_misses_stands_beside_what_bare_loops_miss(tmp_path):
    page = tmp_path / 'arm_loop.md'
    store = page.with_suffix('.json')
    shares = {'bare': 2, 'memory': 9, 'law': 3, 'board': 6, 'law on board': 7, 'device': 8}
    run = {'seconds': 12.0, 'priority': 50, 'load': 3.0, 'date': '2026-11-28'}
    times = {'late': [1e-5, 2e-5, 3e-5, 4e-5], 'work': [6e-4, 9e-4, 1e-3, 2e-3]}
    turns = [
        {
            **{**run, **times, 'loop': name, 'missed': most + more, 'ticks': 1000 - most - more},
            'speed': {'slots': [900, 60, 40], 'missed': [0, 2, most + more - 2]},
        }
        for more in (-1, 1)
        for name, most in shares.items()
    ]
    store.write_text(json.dumps({'bare': turns}))
    write_loop_page('arm', page)
    text = page.read_text()
    assert 'turns: 2, of 12 s each' in text
    row = '0.80% | 0.70% | 0.90% | 0.00% of 90.0% | 3.33% of 6.0% | 15.00% of 4.0%'
    assert f'| the device | {row} | 0.600 | 0.900 | 0.020 | 0.030 |' in text
    assert 'misses 0.90% of its slots, the device 0.80%' in text
    assert 'in the 90% of its slots' in text and 'usual speed 0.000%: as asked' in text
