# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Where a node keeps what belongs to one robot on the bench: calibrations, recordings."""

from __future__ import annotations

import os
from pathlib import Path

FLEX_CALIBRATION = 'flex_calibration.yaml'


def user_data_folder(namespace: str, robot: str, emulated: bool = False) -> Path:
    """Return the folder of one robot in the user's data, never in an install space.

    Parameters
    ----------
    namespace : str
        Of the robot's nodes: two robots of one kind have two calibrations.
    robot : str
        Its name; used where the namespace is empty.
    emulated : bool
        What an emulated device gave never stands where the one on the bench is looked for.
    """
    base = os.environ.get('XDG_DATA_HOME') or str(Path.home() / '.local' / 'share')
    folder = Path(base) / 'soro' / (namespace.strip('/').replace('/', '.') or robot)
    return folder / 'emulated' if emulated else folder
