/* Copyright 2026 soro contributors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the core share.
 */
#ifndef MOTOR_PARTS_H
#define MOTOR_PARTS_H

#include "motor_core.h"

enum { /* identifiers; of groups the first */
  ID_ESTOP = 0x010, ID_SYNC = 0x080, ID_EMERGENCY, ID_EMERGENCY_WIDE, ID_COMMAND = 0x101,
  ID_COMMAND_FD = 0x110, ID_POSITION = 0x181, ID_FEEDBACK_FD = 0x190, ID_VELOCITY = 0x191,
  ID_FLEX = 0x1A1, ID_REPLY = 0x581, ID_REQUEST = 0x601, ID_HOST = 0x700, ID_BOARD = 0x701
};
enum { SATURATED = 1 << 3, EXPIRED = 1 << 4, TORN = 1 << 5 }; /* of a status byte */
enum { TRACKING = 4, ENCODER_JUMP = 5, COMMAND_LOST = 7, ESTOP = 9, REVERSED = 10, FIRST_COMMAND = 11 };
enum {
  SESSION = 0x1000, PROTOCOL, SERIAL, FIRMWARE, CHANNELS, FLEX_INPUTS,
  MINIMUM_ANGLE = 0x2000, MAXIMUM_ANGLE, MAXIMUM_SPEED, MAXIMUM_STEP, MAXIMUM_ERROR,
  ARM = 0x3000, DISARM, RESET, FRAMING, FAULTS = 0x4000
};
enum { WRITE = 0x23, READ = 0x40, VALUE = 0x43, DONE = 0x60, ABORT = 0x80 };
enum { UNKNOWN_PARAMETER = 1, READ_ONLY, OUT_OF_RANGE, WRONG_SESSION, WRONG_STATE };
enum {
  MAJOR = 1, FIRST_MOTORS = 6, FLEX_TOP = 0x0FFF, FLEX_OUT = 1 << 13, FLEX_FRESH = 1 << 14,
  HOLD_TIME = 200, HOST_TIMEOUT = 300, HEARTBEAT = 50, TRACKING_TIME = 50, REVERSE_TIME = 10, /* ms */
  MAX_LOST = 10 /* numbers for which a set-point may be farther away */
};

/* motor_limits.c */
void mc_limits_none(motor_core *c);
bool mc_limit(motor_core *c, int index, uint8_t motor, int32_t value);
uint32_t mc_far(const motor_core *c, const double *first);
double mc_within(const motor_axis *axis, double angle);
double mc_shape(const motor_axis *axis, double wanted, double last, int numbers);
void mc_watch_restart(motor_core *c);
uint32_t mc_jumped(motor_core *c);
uint8_t mc_judge(motor_core *c, uint32_t *motors);

#endif
