/* Copyright 2026 soro contributors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the core share.
 */
#ifndef VALVE_PARTS_H
#define VALVE_PARTS_H

#include "valve_core.h"

enum {
  SET_TIMED = 0x20, SET_BITMAP, ABORT_ALL, VENT_ALL, SET_PAIRS,
  STATUS = 0xA0, VALVE_TIMES, LENGTHS
};
enum { STALE = 0x40, INTERLOCK, DURATION, BUDGET, SUPPLY, QUEUE, MUSCLE };
enum { HOLD, INFLATE, DEFLATE };
enum { VENTED = 1, VENTING = 2, TRIPPED = 4 };
enum {
  KIND = 3, FIRST_MUSCLES = 30,
  BOOTING = 300, STATUS_PERIOD = 100, VENT_AFTER = 1000, SUPPLY_FAULT_AFTER = 300, /* ms */
  MIN_ACTION = 20, MAX_ACTION = 2000, STAGGER = 2, FARTHEST_DEADLINE = 1000,       /* ms */
  FAULT_SUPPLY = 1, NEVER = -1
};

/* valve_bank.c */
uint32_t vc_now(const valve_core *c);
bool vc_venting(const valve_core *c);
uint64_t vc_bit(const valve_muscle *m, int kind);
void vc_drive(valve_core *c, const valve_muscle *m, int kind, bool on);
void vc_drop(valve_core *c);
void vc_append(valve_muscle *m, uint8_t action, int32_t duration);
void vc_vent(valve_core *c);
void vc_step(valve_core *c);
bool vc_busy(const valve_core *c);
void vc_use_pairs(valve_core *c, const uint8_t *pairs, int count);
bool vc_first_wiring(const valve_core *c);
bool vc_supply_low(const valve_core *c);
int vc_refusal(const valve_core *c, const uint8_t *at, int count, uint32_t *who);

#endif
