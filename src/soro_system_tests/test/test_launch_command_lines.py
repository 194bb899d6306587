# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The runner starts what ROS 2 launch starts: against recorded lines, and against the real one.

The recorded lines (``*.expected``) were checked against launch 3.4 and launch_ros 0.26 (Jazzy). To
write them again after a change of a case: ``python test_launch_command_lines.py``.
"""

from __future__ import annotations

import os
from pathlib import Path
import subprocess
import sys
import tempfile

from probe_prefix import (
    CASES,
    environment_with,
    install_probe_packages,
    LAUNCH_FILES,
    normalised,
    read_records,
)
import pytest

from soro_launch.evaluation import plan_launch
from soro_launch.run import is_available

VARIANTS = {
    'values': ('values.launch.xml', {}),
    'values_given': ('values.launch.xml', {'count': '12', 'flag': 'no', 'empty': 'full'}),
    'scoping': ('scoping.launch.xml', {}),
    'scoping_given': ('scoping.launch.xml', {'colour': 'white'}),
    'globals': ('globals.launch.xml', {}),
    'globals_given': ('globals.launch.xml', {'sim': 'true'}),
    'conditions': ('conditions.launch.xml', {}),
    'conditions_given': ('conditions.launch.xml', {'viewer': '0', 'robot': 'haptic_5dof'}),
    'words': ('words.launch.xml', {}),
    'words_given': ('words.launch.xml', {'two': '"quoted" and $plain'}),
    'files': ('files.launch.xml', {}),
    'stiff_flop': (LAUNCH_FILES / 'stiff_flop.launch.xml', {}),
    'stiff_flop_given': (
        LAUNCH_FILES / 'stiff_flop.launch.xml',
        {
            'namespace': 'left',
            'model': 'lpcc',
            'log_level': 'debug',
            'viewer': 'true',
            'record': 'true',
            'use_sim_time': 'true',
            'emulator_log': '/tmp/events',
            'tracker': 'true',
        },
    ),
    'two_segments_on_hardware': (
        LAUNCH_FILES / 'stiff_flop_two_segment.launch.xml',
        {'use_emulator': 'false', 'autostart': 'false'},
    ),
    'haptic_5dof': (LAUNCH_FILES / 'haptic_5dof.launch.xml', {}),
    'haptic_5dof_over_topics': (
        LAUNCH_FILES / 'haptic_5dof.launch.xml',
        {'haptics': 'topics', 'use_emulator': 'false'},
    ),
    'robot_file': (
        LAUNCH_FILES / 'robot.launch.xml',
        {'robot': '/somewhere/mine.yaml', 'namespace': 'mine'},
    ),
}
REAL = """
import sys
from pathlib import Path
from soro_launch.run import run_real_launch
sys.exit(run_real_launch(Path(sys.argv[1]), dict(a.split(':=', 1) for a in sys.argv[2:])))
"""


def planned(variant: str, folder: Path) -> list[str]:
    """Return what the runner would start, normalised like the records of started processes."""
    prefix = install_probe_packages(folder)
    file, arguments = VARIANTS[variant]
    parameters = folder / 'parameters'
    parameters.mkdir()
    plan = plan_launch(CASES / file, arguments, environment_with(prefix), parameters)
    lines = []
    for process in plan.processes:
        words = list(process.command)
        places = [i for i, word in enumerate(words) if word == '--params-file']
        files = [Path(words[i + 1]).read_text() for i in places]
        environment = dict(process.environment)
        if words[0] == 'env':  # a prefix acts before the executable and is not in its own line
            environment['PROBE_PREFIX'] = '1'
            del words[:2]
        lines.append(normalised(words, files, environment, prefix))
    return sorted(lines)


def started(variant: str, folder: Path) -> list[str]:
    """Return what ROS 2 launch starts."""
    prefix = install_probe_packages(folder)
    file, arguments = VARIANTS[variant]
    words = [f'{k}:={v}' for k, v in arguments.items()]
    expected = (CASES / f'{variant}.expected').read_text().splitlines()
    variables = {'ROS_LOG_DIR': str(folder / 'log'), 'PROBES': str(len(expected))}
    # Its exit code says nothing here: the probe of a driver ends the launch, as a driver does.
    done = subprocess.run(
        [sys.executable, '-c', REAL, str(CASES / file), *words],
        check=False,
        timeout=60,
        env={**environment_with(prefix), **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    print(done.stderr)  # pytest shows it when the lines differ
    return read_records(folder)


# Where ROS 2 launch is not installed there is only one runner to look at.
RUNNERS = {'soro': planned, **({'ros2': started} if is_available() else {})}


@pytest.mark.parametrize('variant', VARIANTS)
@pytest.mark.parametrize('runner', RUNNERS)
def test_the_recorded_lines_are_started(runner: str, variant: str, tmp_path: Path) -> None:
    expected = (CASES / f'{variant}.expected').read_text().splitlines()
    assert RUNNERS[runner](variant, tmp_path) == expected


if __name__ == '__main__':
    for name in VARIANTS:
        with tempfile.TemporaryDirectory() as made:
            text = '\n'.join(planned(name, Path(made)))
        (CASES / f'{name}.expected').write_text(text + os.linesep)
