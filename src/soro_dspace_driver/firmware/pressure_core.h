/* Copyright 2026 soro contributors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Core of the task of a real-time computer with pressure regulators (protocol F1,
 * docs/hardware/dspace.md): framing, session, watchdog, limits, safe state. C99, no heap, no
 * vendor code. The task calls `pressure_core_byte` for every byte that its serial port has, then
 * `pressure_core_tick`, every `period`; the core calls `pressure_hw`.
 */
#ifndef PRESSURE_CORE_H
#define PRESSURE_CORE_H

#include "serial_frame.h"

enum { PRESSURE_CHANNELS = 16, PRESSURE_JUDGED = 3 };

typedef enum { PRESSURE_BOOT, PRESSURE_SAFE, PRESSURE_ARMED, PRESSURE_FAULT, PRESSURE_ESTOP } pressure_state;

/* What the board does for the core; no call may block. 0 to 10 V are 0 to 400 kPa, both ways. */
typedef struct {
  void *board;                                                   /* handed to every call */
  void (*send)(void *board, const uint8_t *bytes, size_t count); /* one whole frame */
  double (*monitor)(void *board, uint8_t channel);               /* [V] */
  void (*command)(void *board, uint8_t channel, double volts);
  void (*dump)(void *board, bool opened);                        /* valve; without power it is open */
  uint32_t (*microseconds)(void *board);                         /* a clock that wraps */
} pressure_hw;

typedef struct {
  uint32_t serial, boot_id; /* boot_id: another one after every start */
  uint8_t channels;
  double period;            /* of the task: a millisecond [s] */
} pressure_config;

typedef struct {
  pressure_config config;
  pressure_hw hw;
  serial_link link;
  pressure_state state;
  uint32_t session;
  uint16_t faults, meant, last, refused, expired;
  uint32_t stale; /* set-points that came again or late */
  bool commanded, first, ramping; /* commanded: `last` is of this session */
  int64_t tick, command_at, feedback_at, status_at; /* feedback_at: 0.1 ms */
  int32_t ttl, period;            /* [ms]; of FEEDBACK [0.1 ms], 0 before LIMITS */
  double rate, maximum[PRESSURE_CHANNELS]; /* [Pa/s], [Pa] */
  double target[PRESSURE_CHANNELS], applied[PRESSURE_CHANNELS], volts[PRESSURE_CHANNELS];
  int64_t since[PRESSURE_JUDGED][PRESSURE_CHANNELS]; /* a channel is wrong */
} pressure_core;

void pressure_core_init(pressure_core *core, const pressure_config *config, const pressure_hw *hw);
void pressure_core_byte(pressure_core *core, uint8_t byte);
void pressure_core_tick(pressure_core *core);

#endif
