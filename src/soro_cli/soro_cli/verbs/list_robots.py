# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""soro list: the catalogue, and what runs."""

from __future__ import annotations

import argparse

from soro_cli.tables import note, print_json, print_table

SUMMARY = 'robots of the catalogue; with --running those that run now'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument('--running', action='store_true', help='look for running robots too')
    parser.add_argument('--json', action='store_true', help='print JSON')


def run(arguments: argparse.Namespace) -> int:
    """Run the verb."""
    from soro_mechanics.robot_file.catalogue import robot_files

    robots = [_describe(name, str(path)) for name, path in sorted(robot_files().items())]
    running = None
    if arguments.running:
        from soro_cli.ros_session import RosSession

        with RosSession() as session:
            running = session.running_robots()
    if arguments.json:
        print_json({'robots': robots, **({} if running is None else {'running': running})})
    else:
        rows = [
            (r['name'], str(len(r['actuators'])), ' '.join(r['models']), r['title'])
            for r in robots
        ]
        print_table('', ('robot', 'actuators', 'models', ''), rows)
        if running is not None:
            print('running: ' + (', '.join(running) or 'none'))
    broken = [r for r in robots if r['error']]
    for robot in broken:
        note(f'soro: {robot["error"]}')
    return 1 if broken else 0


def _describe(name: str, path: str) -> dict:
    from soro_mechanics.core.errors import RobotFileError
    from soro_mechanics.robot_file.reader import read_robot_file

    found = {'name': name, 'title': 'its file is wrong', 'file': path, 'error': ''}
    found |= {'models': [], 'actuators': []}
    try:
        robot = read_robot_file(path)
    except RobotFileError as error:
        return found | {'error': str(error)}
    actuators = [a.name for a in robot.actuators]
    return found | {'title': robot.title, 'models': list(robot.models), 'actuators': actuators}
