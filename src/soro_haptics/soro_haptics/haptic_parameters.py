# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Parameters of the haptic renderer: those of a driver, and how the hand is sensed and served."""

from soro_driver.driver_parameters import PARAMETERS as DRIVER_PARAMETERS
from soro_mechanics.haptics.hand_impedance import HANDS
from soro_mechanics.haptics.virtual_environment import PRESETS
from soro_node.parameters import fixed, Parameter
from soro_node.robot_binding import FRAME_PREFIX

DIRECT, TOPICS = 'direct', 'topics'

PARAMETERS = (
    *DRIVER_PARAMETERS,
    FRAME_PREFIX,
    fixed('gravity', [], 'm/s^2', "gravity in base_link; empty: the robot file's", sizes=(0, 3)),
    Parameter(
        'loop', DIRECT, '', 'direct: this node owns the device; topics: it commands a driver, '
        'for comparison', choices=(DIRECT, TOPICS), read_only=True,
    ),
    Parameter(
        'environment', 'free', '', 'what the hand feels after the first arming, around base_link; '
        'later: set_environment', choices=PRESETS, read_only=True,
    ),
    Parameter(
        'publish_rate', 100.0, 'Hz', 'rate of all copies (states, estimate); more costs the loop '
        'time', minimum=1.0, maximum=2000.0, read_only=True,
    ),
    Parameter(
        'on_sensor_loss', 'encoders', '', 'a flex sensor that fails: go on with the others, in '
        'the end with encoders alone, or stop', choices=('encoders', 'stop'), read_only=True,
    ),
    fixed(
        'encoder_deviation', 2.7e-4, 'rad', 'standard deviation of a motor angle at the output',
        minimum=1e-7,
    ),
    Parameter(
        'force_deviation', [10.0, 10.0, 10.0, 0.5, 0.5], 'N, N m',
        'what a hand typically gives in the five directions; where no sensor sees it the estimate '
        'stays near zero', sizes=(5,), minimum=1e-6, read_only=True,
    ),
    fixed('time_constant', 6e-3, 's', 'low-pass of the motor angles', minimum=0.0, maximum=1.0),
    Parameter(
        'speed_time_constant', 10e-3, 's', "filter of the hand's velocity, for damping",
        minimum=0.0, maximum=1.0, read_only=True,
    ),
    Parameter(
        'expected_hand', 'fingertip', '', 'softest hand that will hold the handle: stiffness and '
        'damping that would ring on it are not rendered, whatever is asked; none: a handle that '
        'is let go of',
        choices=tuple(HANDS), read_only=True,
    ),
    Parameter(
        'energy', 0.02, 'J', 'the motors may give the hand this much more than it gave; more lets '
        'an object be pressed harder before it yields, and a ringing last longer',
        minimum=1e-3, maximum=10.0, read_only=True,
    ),
    Parameter(
        'rest_force', 0.15, 'N', 'a sensed force or added_wrench below this, and what the sensors '
        'may err by beyond it, moves nothing that no object moves: a handle that nobody holds '
        'stays where it is',
        minimum=0.0, maximum=5.0, read_only=True,
    ),
    Parameter(
        'stream_timeout', 0.1, 's', 'an added_wrench older than this is zero; a goal_pose older '
        'than this begins no object', minimum=1e-3, maximum=10.0, read_only=True,
    ),
    Parameter(
        'motion_speed', 1.0, 'rad/s', 'of the motors when they follow target_actuation',
        minimum=1e-3, maximum=20.0, read_only=True,
    ),
    Parameter(
        'calibration_file', '', '', "calibration of the flex sensors; empty: this robot's file in "
        'the user data folder', read_only=True,
    ),
)  # fmt: skip
