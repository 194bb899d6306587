/* Copyright 2026 soro contributors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Valves: pairs, queues, one valve of a muscle at a time, supply and budget, venting.
 */
#include "valve_parts.h"

#include <string.h>

static const double LOW_SUPPLY = 0.6, BUDGET_LEAK = 1.0 / 1.8e6;

uint32_t vc_now(const valve_core *c) { return (uint32_t)(c->tick + c->config.first_tick); }

bool vc_venting(const valve_core *c) { return c->venting_until != NEVER; }

uint64_t vc_bit(const valve_muscle *m, int kind) { return (uint64_t)1 << m->pair[kind]; }

void vc_drive(valve_core *c, const valve_muscle *m, int kind, bool on) {
  c->hw.valve(c->hw.board, m->pair[kind], on);
  if (kind == 0 && on) c->flags &= (uint8_t)~VENTED;
}

static void off(valve_core *c, valve_muscle *m) {
  if (m->running == HOLD) return;
  const int kind = m->running - 1;
  const int64_t on = c->tick - m->began, rested = c->tick > m->ready ? c->tick - m->ready : 0;
  m->worked[kind] += (uint32_t)on;
  const double leak = m->net * BUDGET_LEAK * (double)rested;
  m->net = m->net - leak + (kind == 0 ? (double)on : -2.0 * (double)on);
  if (m->net < 0.0) m->net = 0.0;
  c->coils &= ~vc_bit(m, kind);
  m->running = HOLD;
  m->ready = c->tick + MIN_ACTION; /* also lets the other valve close first */
  vc_drive(c, m, kind, false);
}

void vc_drop(valve_core *c) {
  c->venting_until = NEVER;
  for (int i = 0; i < c->count; i++) {
    c->muscles[i].waiting = 0;
    off(c, &c->muscles[i]);
  }
  const uint64_t rest = c->coils; /* what was set by bitmap */
  c->coils = 0;
  for (int i = 0; i < c->count; i++)
    for (int kind = 0; kind < 2; kind++)
      if (rest & vc_bit(&c->muscles[i], kind)) vc_drive(c, &c->muscles[i], kind, false);
}

void vc_append(valve_muscle *m, uint8_t action, int32_t duration) {
  m->queue[m->waiting].action = action;
  m->queue[m->waiting++].duration = duration;
}

static valve_action take(valve_muscle *m) {
  const valve_action first = m->queue[0];
  memmove(m->queue, m->queue + 1, sizeof m->queue - sizeof m->queue[0]);
  m->waiting--;
  return first;
}

void vc_vent(valve_core *c) {
  if (!c->told) { /* which valves would let the air out? */
    vc_drop(c);
    return;
  }
  c->flags &= (uint8_t)~VENTED;
  c->bitmap_until = NEVER;
  vc_drop(c);
  /* The last relay pulls in after its pause and all the staggering. */
  const int32_t duration = c->config.vent_time + MIN_ACTION + c->count * STAGGER;
  c->venting_until = c->tick + duration;
  for (int i = 0; i < c->count; i++) vc_append(&c->muscles[i], DEFLATE, duration);
  if (c->state == VALVE_ARMED) c->state = VALVE_SAFE;
}

static void work(valve_core *c, valve_muscle *m) {
  if (m->running != HOLD) {
    if (c->tick < m->ends) return;
    if (m->waiting && m->queue[0].action == m->running) {
      m->ends += take(m).duration; /* stays open: no dead time in between */
      return;
    }
    off(c, m);
  }
  if (m->waiting && c->tick >= m->ready && c->tick >= c->pull_in) {
    const valve_action action = take(m);
    m->running = action.action;
    m->began = c->tick;
    m->ends = c->tick + action.duration;
    m->switched[m->running - 1]++;
    c->pull_in = c->tick + STAGGER;
    c->coils |= vc_bit(m, m->running - 1);
    vc_drive(c, m, m->running - 1, true);
  }
}

void vc_step(valve_core *c) {
  if (vc_venting(c) && c->tick >= c->venting_until) {
    c->venting_until = NEVER;
    for (int i = 0; i < c->count; i++) {
      off(c, &c->muscles[i]);
      c->muscles[i].net = 0.0;
    }
    c->flags |= VENTED;
  }
  for (int i = 0; i < c->count; i++) work(c, &c->muscles[i]);
}

bool vc_busy(const valve_core *c) {
  bool waiting = c->coils != 0;
  for (int i = 0; i < c->count; i++) waiting |= c->muscles[i].waiting != 0;
  return waiting;
}

void vc_use_pairs(valve_core *c, const uint8_t *pairs, int count) {
  memset(c->muscles, 0, sizeof c->muscles);
  c->count = (uint8_t)count;
  c->coils = 0;
  c->venting_until = NEVER;
  c->pull_in = 0;
  for (int i = 0; i < count; i++) memcpy(c->muscles[i].pair, pairs + 2 * i, 2);
}

/* Is this the wiring of version 1.0? */
bool vc_first_wiring(const valve_core *c) {
  bool same = c->count == FIRST_MUSCLES;
  for (int i = 0; same && i < c->count; i++)
    same = c->muscles[i].pair[0] == 2 * i && c->muscles[i].pair[1] == 2 * i + 1;
  return same;
}

/* Supply, queue and budget ------------------------------------------------------------------- */

bool vc_supply_low(const valve_core *c) {
  return c->hw.supply(c->hw.board) < LOW_SUPPLY * c->config.nominal_supply;
}

static int32_t inflation_waiting(const valve_muscle *m) {
  int32_t sum = 0;
  for (int k = 0; k < m->waiting; k++)
    if (m->queue[k].action == INFLATE) sum += m->queue[k].duration;
  return sum;
}

static int refusal_of_one(const valve_core *c, const uint8_t *at) {
  const valve_muscle *m = &c->muscles[at[0]];
  const int32_t duration = (int32_t)serial_get(at + 2, 2);
  if (at[1] > DEFLATE) return OUT_OF_RANGE;
  if (at[1] == HOLD) return 0;
  if (duration < MIN_ACTION || duration > MAX_ACTION) return DURATION;
  if (m->waiting >= VALVE_QUEUE) return QUEUE;
  if (at[1] == INFLATE) {
    double promised = m->net + inflation_waiting(m) + duration;
    if (m->running == INFLATE) promised += (double)(m->ends - m->began);
    if (promised > c->config.budget) return BUDGET;
  }
  return 0;
}

/* The reason to refuse timed actions as a whole, or 0; `who` is the muscle. */
int vc_refusal(const valve_core *c, const uint8_t *at, int count, uint32_t *who) {
  int seen[VALVE_MAX_MUSCLES]; /* action, or -1 */
  int first = -1, under_way = 0;
  bool inflates[VALVE_MAX_MUSCLES] = {false};
  for (int i = 0; i < VALVE_MAX_MUSCLES; i++) seen[i] = -1;
  for (int i = 0; i < count; i++) {
    const uint8_t muscle = at[4 * i], action = at[4 * i + 1];
    *who = muscle;
    if (muscle >= c->count) return MUSCLE;
    if (seen[muscle] >= 0) return seen[muscle] == action ? MUSCLE : INTERLOCK;
    seen[muscle] = action;
  }
  for (int i = 0; i < count; i++) {
    const int reason = refusal_of_one(c, at + 4 * i);
    *who = at[4 * i];
    if (reason) return reason;
  }
  for (int i = 0; i < count; i++)
    if (at[4 * i + 1] == INFLATE) {
      inflates[at[4 * i]] = true;
      if (first < 0) first = at[4 * i];
    }
  if (first < 0) return 0;
  *who = (uint32_t)first;
  if (vc_supply_low(c)) return SUPPLY;
  for (int i = 0; i < c->count; i++) {
    const valve_muscle *m = &c->muscles[i];
    under_way += inflates[i] || m->running == INFLATE || inflation_waiting(m) > 0;
  }
  return under_way > c->config.simultaneous ? SUPPLY : 0;
}

