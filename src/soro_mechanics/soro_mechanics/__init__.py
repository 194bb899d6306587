# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""All mechanics of soft parallel and continuum robots; knows no ROS.

>>> from soro_mechanics import load_robot
>>> robot = load_robot('stiff_flop')
>>> q = robot.forward([1.0e5, 0.0, 0.0])
"""

from soro_mechanics.compilation.kernel_cache import use_kernel_cache
from soro_mechanics.core.missing_package import require_numba

use_kernel_cache()
require_numba()

from soro_mechanics.core.configuration import Configuration, InverseSolution, Load, LoadAxes, Task  # noqa: E402 - the cache folder comes first
from soro_mechanics.core.errors import InvalidInput, RobotFileError, SoroError, UnknownName  # noqa: E402
from soro_mechanics.core.status import Code, SolverStatus, Stability  # noqa: E402
from soro_mechanics.robot import load_robot, Robot  # noqa: E402

__all__ = [
    'Code',
    'Configuration',
    'InverseSolution',
    'InvalidInput',
    'Load',
    'LoadAxes',
    'Robot',
    'RobotFileError',
    'SolverStatus',
    'SoroError',
    'Stability',
    'Task',
    'UnknownName',
    'load_robot',
]
