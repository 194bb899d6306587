# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Where a node keeps what belongs to one robot on the bench: calibrations, recordings."""

from __future__ import annotations

from collections.abc import Mapping
import os
from pathlib import Path
from typing import Any

FLEX_CALIBRATION = 'flex_calibration.yaml'


def user_data_folder(namespace: str, robot: str, emulated: bool = False) -> Path:
    """Return the folder of one robot in the user's data, never in an install space.

    - `namespace`: of the robot's nodes: two robots of one kind have two calibrations.
    - `robot`: its name; used where the namespace is empty.
    - `emulated`: what an emulated device gave never stands where the one on the bench is looked
      for.
    """
    base = os.environ.get('XDG_DATA_HOME') or str(Path.home() / '.local' / 'share')
    folder = Path(base) / 'soro' / (namespace.strip('/').replace('/', '.') or robot)
    return folder / 'emulated' if emulated else folder


def calibration_path(values: Mapping[str, Any], namespace: str, robot: str) -> Path:
    """Return where the calibration of a robot's flex sensors is kept, for who writes and reads it.

    - `values`: parameters of the node: `calibration_file` and `use_emulator`.
    - `namespace`, `robot`: as in `user_data_folder`.
    """
    if values['calibration_file']:
        return Path(values['calibration_file']).expanduser()
    return user_data_folder(namespace, robot, values['use_emulator']) / FLEX_CALIBRATION
