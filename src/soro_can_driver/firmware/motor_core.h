/* Copyright 2026 soro contributors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Core of the firmware of a motor board (protocol F4, docs/hardware/can.md): frames, session,
 * watchdogs, limits, safe states. C99, no heap, no vendor code. The board calls
 * `motor_core_receive` for every frame received and `motor_core_tick` every millisecond, from one
 * context; the core calls `motor_hw`. Angles in tenths of a degree, speeds in deg/s, of the motors.
 */
#ifndef MOTOR_CORE_H
#define MOTOR_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  MOTOR_MAX = 32,      /* motors, and flex inputs */
  MOTOR_GROUP = 3,     /* in one frame */
  MOTOR_GROUPS = 11,
  MOTOR_MAX_FRAME = 64 /* bytes */
};

typedef enum { MOTOR_BOOT, MOTOR_SAFE, MOTOR_ARMED, MOTOR_HOLDING, MOTOR_FAULT, MOTOR_ESTOP } motor_state;

/* Reasons of a fault that the board itself finds, for `motor_core_fail`. */
enum { MOTOR_OVER_CURRENT = 3, MOTOR_BUS_OFF = 8 };

/* What the board does for the core; no call may take longer than a fraction of a millisecond. */
typedef struct {
  void *board;                                                           /* handed to every call */
  void (*send)(void *board, uint16_t id, const uint8_t *data, uint8_t size);
  void (*drive)(void *board, uint8_t motor, bool on, double target);     /* off: no torque */
  double (*encoder)(void *board, uint8_t motor);
  double (*speed)(void *board, uint8_t motor);
  double (*flex)(void *board, uint8_t input);                            /* counts of 12 bits */
  int8_t (*temperature)(void *board);                                    /* deg C */
  uint32_t (*microseconds)(void *board);                                 /* a clock that wraps */
} motor_hw;

typedef struct {
  int32_t serial, boot_id; /* boot_id: another one after every start, 1 to 65535 */
  uint8_t motors, inputs;
} motor_config;

typedef struct {
  bool there, enable;
  uint8_t seq, ttl;
  int16_t angle[MOTOR_GROUP];
} motor_command;

typedef struct {
  double low, high, speed, step, error;
  double encoder;               /* at the last tick */
  int64_t away, off;            /* since when it turns away, is too far off */
} motor_axis;

typedef struct {
  motor_config config;
  motor_hw hw;
  motor_state state;
  uint8_t status, seq, sync, duty_motor;
  bool wide, fd, first;
  uint32_t faults;
  int64_t tick, command_at, host_at, heartbeat_at, session;
  int32_t ttl;                  /* ms; < 0: no command yet */
  double target[MOTOR_MAX];
  motor_axis axis[MOTOR_MAX];
  motor_command received[MOTOR_GROUPS];
} motor_core;

void motor_core_init(motor_core *core, const motor_config *config, const motor_hw *hw);
void motor_core_receive(motor_core *core, uint16_t id, const uint8_t *data, uint8_t size);
void motor_core_tick(motor_core *core);
void motor_core_fail(motor_core *core, uint8_t code, uint32_t motors); /* a fault, latched */

#endif
