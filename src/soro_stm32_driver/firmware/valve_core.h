/* Copyright 2026 soro contributors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Core of the firmware of a valve board (protocol F3, docs/hardware/stm32.md): framing, session, watchdog,
 * limits, safe state. C99, no heap, no vendor code. The board calls `valve_core_byte` for every byte
 * received and `valve_core_tick` every millisecond, from one context; the core calls `valve_hw`.
 */
#ifndef VALVE_CORE_H
#define VALVE_CORE_H

#include "serial_frame.h"

enum {
  VALVE_MAX_MUSCLES = 32,
  VALVE_MAX_VALVES = 64,
  VALVE_QUEUE = 8,      /* actions of one muscle that wait */
  VALVE_WINDOW = 16     /* sequence numbers that are remembered */
};

typedef enum { VALVE_BOOT, VALVE_SAFE, VALVE_ARMED, VALVE_FAULT, VALVE_ESTOP } valve_state;

/* What the board does for the core. `valve` and `send` must not block for longer than a millisecond. */
typedef struct {
  void *board;                                                   /* handed to every call */
  void (*send)(void *board, const uint8_t *bytes, size_t count); /* one whole frame */
  void (*valve)(void *board, uint8_t valve, bool on);            /* drive one coil */
  uint32_t (*supply)(void *board);                               /* pressure [Pa] */
  uint16_t (*battery)(void *board);                              /* [mV] */
  uint16_t (*length)(void *board, uint8_t muscle);               /* 0.01 mm, 0xFFFF: none */
} valve_hw;

typedef struct {
  uint32_t serial, boot_id; /* boot_id: another one after every start */
  uint32_t first_tick;      /* the clock at the start [ms] */
  int32_t vent_time;        /* of VENT_ALL [ms] */
  int32_t budget;           /* net inflation of a muscle, at most [ms] */
  int32_t watchdog;         /* longest silence of the host [ms] */
  uint32_t nominal_supply;  /* [Pa] */
  uint8_t simultaneous;     /* muscles inflated at once, at most */
  bool sensors;             /* sends LENGTHS */
  bool in_order;            /* wired as version 1.0 says: 30 muscles, valves in order */
} valve_config;

typedef struct {
  uint8_t action;
  int32_t duration;
} valve_action;

typedef struct {
  valve_action queue[VALVE_QUEUE];
  uint8_t waiting, running; /* running: action, 0 none */
  int64_t began, ends, ready;
  uint32_t worked[2], switched[2]; /* [ms], times */
  double net;                      /* inflation [ms] */
  uint8_t pair[2];                 /* valves: inflates, deflates */
} valve_muscle;

typedef struct {
  valve_config config;
  valve_hw hw;
  serial_link link;
  valve_state state;
  uint8_t flags;
  uint16_t faults;
  bool told; /* which valves serve which muscle */
  int64_t tick, status_at, low_since, bitmap_until, venting_until, pull_in, heard;
  uint64_t coils;
  uint8_t count; /* muscles */
  valve_muscle muscles[VALVE_MAX_MUSCLES];
  uint32_t session;
  uint16_t last_seq, done[VALVE_WINDOW];
  uint32_t ends[VALVE_WINDOW]; /* details of the answers to `done` */
  uint8_t remembered;          /* of `done` */
} valve_core;

void valve_core_init(valve_core *core, const valve_config *config, const valve_hw *hw);
void valve_core_byte(valve_core *core, uint8_t byte);
void valve_core_tick(valve_core *core);

#endif
