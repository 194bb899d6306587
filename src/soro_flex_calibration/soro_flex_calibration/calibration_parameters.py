# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Parameters of the flex calibration."""

from soro_mechanics.haptics.flex_fit import METHODS
from soro_node.lifecycle import autostart_parameter
from soro_node.parameters import fixed, Parameter
from soro_node.robot_binding import ROBOT

PARAMETERS = (
    autostart_parameter(),
    ROBOT,
    fixed('gravity', [], 'm/s^2', "gravity in base_link; empty: the robot file's", sizes=(0, 3)),
    Parameter(
        'poses', 64, '', 'extremes of the motors visited where the goal names no number',
        minimum=4, maximum=1000,
    ),
    Parameter(
        'amplitude', 0.7, '', "part of the motors' range where the goal names none",
        minimum=0.05, maximum=1.0,
    ),
    Parameter('speed', 0.9, 'rad/s', 'of the fastest motor', minimum=0.01, maximum=10.0),
    Parameter(
        'settle_time', 0.1, 's', 'rest before readings at an extreme where the goal names none',
        minimum=0.0, maximum=10.0,
    ),
    Parameter(
        'samples_per_pose', 5, '', 'readings at each extreme where the goal names no number',
        minimum=1, maximum=1000,
    ),
    Parameter(
        'in_motion', True, '', 'readings count between the extremes too; false where motors and '
        'sensors are not measured at the same time',
    ),
    Parameter(
        'method', 'exact', '', 'how nodes are chosen: exact (every pair) or published (a range of '
        'gamma, cvxpy); the former never fits worse', choices=METHODS,
    ),
    Parameter(
        'max_residual', 0.0, 'm', 'RMS of a fit above which it is refused; 0: judged by shares of '
        'the range alone', minimum=0.0, maximum=0.01,
    ),
    Parameter(
        'weight', 0.2, 'kg', 'what is hung on the middle of the handle for ~/weigh',
        minimum=0.01, maximum=2.0,
    ),
    Parameter(
        'weight_time', 15.0, 's', 'for a person to hang the weight on, and to take it off, while '
        'the motors hold', minimum=0.0, maximum=600.0,
    ),
    Parameter('seed', 0, '', 'of the random order; negative: another one each time', minimum=-1),
    fixed('use_emulator', True, '', 'the device is emulated: its calibration is kept apart'),
    Parameter(
        'calibration_file', '', '', "where the fit is kept; empty: this robot's file in the user "
        'data folder', read_only=True,
    ),
)  # fmt: skip
