# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A recording and a viewer, brought together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
import tempfile

from soro_cli.tables import note
from soro_mechanics.core.errors import SoroError
from soro_mechanics.robot_file.reader import RobotDescription
from soro_node.file_errors import writing
from soro_node.user_errors import UserError
from soro_recording.bag_reader import BagReader
from soro_recording.open_bag import open_bag
from soro_recording.recorded_robot import describe
from soro_recording.run_data import choose_namespace
from soro_visualization.description_file import expand, find_description
from soro_visualization.drawing.rigid_parts import read_urdf
from soro_visualization.page.viewer import derived_port, Viewer
from soro_visualization.playback import Playback, Recording


@contextmanager
def shown_recording(bag: Path, namespace: str | None, robot: str, port: int) -> Iterator[Playback]:
    """Serve a recording on loopback.

    - `namespace`: which robot, in a bag of several.
    - `robot`: file or name; empty: the file inside the recording.
    - `port`: zero: derived from the namespace.

    UserError: no recording, no shape in it, or no robot file.
    """
    with open_bag(bag) as reader:
        space = choose_namespace(reader, namespace)
        description = _description(reader, space, robot)
        recording = Recording(reader, space)
        if not recording.duration:
            raise UserError(f'{bag} holds no shapes ({space}/configuration): nothing to see')
        file = find_description(description.name)  # can be looked at without rigid parts
        parts = None if file is None else read_urdf(expand(file, ''), '')
        try:
            viewer = Viewer(description, port=port or derived_port(space), parts=parts)
        except OSError as error:
            raise UserError(
                f'the page cannot be served: {error.strerror or error}; choose another --port'
            ) from None
        try:
            yield Playback(viewer, recording, description)
        finally:
            viewer.close()


def _description(reader: BagReader, namespace: str, robot: str) -> RobotDescription:
    """Return the robot as `soro plot` finds it."""
    folder = Path(tempfile.gettempdir())
    try:
        with writing(folder), tempfile.TemporaryDirectory() as scratch:
            description, said = describe(reader, namespace, robot or None, Path(scratch))
    except SoroError as error:
        raise UserError(str(error)) from None
    if said:
        note(f'soro: {said}')
    return description
