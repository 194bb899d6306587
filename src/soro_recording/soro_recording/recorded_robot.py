# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Which robot a recording is of, and whether the messages in it are of that robot."""

from __future__ import annotations

from pathlib import Path

from soro_mechanics.core.errors import SoroError
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file, RobotDescription
from soro_node.file_errors import writing
from soro_node.user_errors import UserError
from soro_recording.bag_reader import BagReader


def describe(
    bag: BagReader, namespace: str, robot: str | None, folder: Path
) -> tuple[RobotDescription, str]:
    """Return the recorded robot, and what a person has to know of where its file is from.

    - `robot`: name or file of a robot that is used whatever is recorded.
    - `folder`: where the recorded file is put, for those who edit it.

    UserError: nothing says which robot it was.
    """
    texts = [one.text for one in bag.robots if one.namespace == namespace]
    if robot is not None:
        description = read_robot_file(find_robot_file(robot))
        said = f'--robot: {description.file} is used, not the robot file in {bag.path}'
        return description, said if texts else ''
    try:
        if texts:
            path = folder / 'robot.yaml'
            with writing(path):
                path.write_text(texts[0], encoding='utf-8')
            return read_robot_file(path), ''
        description = read_robot_file(find_robot_file(namespace.strip('/')))
    except SoroError as error:
        raise UserError(
            f'which robot {namespace} in {bag.path} was is not known: {error}; '
            'name its file with --robot FILE'
        ) from None
    return description, (
        f'{bag.path} holds no robot file: {description.file} is used, because it is called like '
        'the namespace; --robot FILE names another'
    )
