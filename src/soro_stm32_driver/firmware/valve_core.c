/* Copyright 2026 soro contributors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Session, what the host says, watchdog, reports.
 */
#include "valve_parts.h"

#include <math.h>
#include <string.h>

/* What the host says ------------------------------------------------------------------------- */

static void hello_ack(valve_core *c) {
  const uint16_t watchdog = (uint16_t)c->config.watchdog;
  const serial_identity me = {
    c->session, c->config.serial, c->config.boot_id, KIND, c->state,
    c->link.minor ? VALVE_MAX_MUSCLES : FIRST_MUSCLES, watchdog, watchdog, 0, c->config.budget
  };
  serial_identify(&c->link, &me);
}

static void on_hello(valve_core *c, const uint8_t *body) {
  const uint32_t number = (uint32_t)serial_get(body, 4);
  if (number != c->session) { /* another host: nothing of the old one counts */
    c->session = number;
    c->heard = c->tick;
    c->remembered = 0;
    c->last_seq = 0;
    c->link.minor = body[5] < NEWEST_MINOR ? body[5] : NEWEST_MINOR;
    if (c->state == VALVE_ARMED) vc_vent(c);
  }
  hello_ack(c);
}

static int on_arm(valve_core *c) {
  if (c->link.minor < 1 && !vc_first_wiring(c)) return VERSION;
  if (c->state != VALVE_SAFE || vc_venting(c) || !c->session) return STATE;
  if (!(c->flags & VENTED)) return STATE;
  c->flags &= (uint8_t)~TRIPPED;
  c->state = VALVE_ARMED;
  return 0;
}

static int on_pairs(valve_core *c, const uint8_t *body, size_t size) {
  uint64_t used = 0;
  bool valid = size >= 2 && size <= 2 * VALVE_MAX_MUSCLES, same = c->told && size == 2u * c->count;
  if (!c->session) return SESSION;
  for (size_t i = 0; valid && i < size; i++) {
    valid = body[i] < VALVE_MAX_VALVES && !(used >> body[i] & 1);
    if (valid) used |= (uint64_t)1 << body[i];
  }
  if (!valid) return OUT_OF_RANGE;
  for (size_t i = 0; same && i < size; i++) same = c->muscles[i / 2].pair[i % 2] == body[i];
  if (same) return 0;
  if (c->state != VALVE_SAFE || vc_busy(c) || vc_venting(c)) return BUSY;
  vc_use_pairs(c, body, (int)(size / 2));
  c->told = true;
  c->flags &= (uint8_t)~VENTED; /* of other muscles nobody knows */
  return 0;
}

static int on_bitmap(valve_core *c, const uint8_t *body, uint32_t *who) {
  const uint64_t mask = serial_get(body, 8), value = serial_get(body + 8, 8);
  const uint64_t after = (c->coils & ~mask) | (value & mask);
  if (!c->session) return SESSION;
  if (!c->told) return STATE;
  for (int i = 0; i < c->count; i++)
    if (after & vc_bit(&c->muscles[i], 0) && after & vc_bit(&c->muscles[i], 1)) {
      *who = (uint32_t)i;
      return INTERLOCK;
    }
  if (c->state != VALVE_SAFE || vc_venting(c)) return STATE;
  for (int i = 0; i < c->count; i++)
    for (int kind = 0; kind < 2; kind++)
      if ((after ^ c->coils) & vc_bit(&c->muscles[i], kind))
        vc_drive(c, &c->muscles[i], kind, (after & vc_bit(&c->muscles[i], kind)) != 0);
  c->coils = after;
  c->bitmap_until = c->tick + (int64_t)serial_get(body + 16, 2);
  return 0;
}

static void on_timed(valve_core *c, uint16_t seq, const uint8_t *body) {
  const uint16_t behind = (uint16_t)(c->last_seq - seq);
  const int32_t left = (int16_t)(uint16_t)(serial_get(body, 2) - vc_now(c));
  uint32_t who = 0;
  int reason;
  for (int k = 0; k < c->remembered; k++)
    if (c->done[k] == seq) { /* again: the same answer, and nothing is done */
      serial_ack(&c->link, seq, SET_TIMED, c->ends[k]);
      return;
    }
  if (left < 0 || left > FARTHEST_DEADLINE ||
      (c->remembered && behind >= VALVE_WINDOW && behind < 0x8000))
    reason = STALE;
  else if (c->state != VALVE_ARMED || vc_venting(c))
    reason = STATE;
  else
    reason = vc_refusal(c, body + 3, body[2], &who);
  if (reason) {
    serial_nack(&c->link, seq, SET_TIMED, (uint8_t)reason, who);
    return;
  }
  for (int i = 0; i < body[2]; i++) {
    const uint8_t *at = body + 3 + 4 * i;
    if (at[1] != HOLD) vc_append(&c->muscles[at[0]], at[1], (int32_t)serial_get(at + 2, 2));
  }
  if (!c->remembered || behind >= 0x8000) c->last_seq = seq; /* behind 0: remembered, see above */
  int64_t end = c->tick;
  for (int i = 0; i < c->count; i++) {
    const valve_muscle *m = &c->muscles[i];
    if (m->running == HOLD && !m->waiting) continue;
    int64_t at = m->running != HOLD ? m->ends : c->tick > m->ready ? c->tick : m->ready;
    for (int k = 0; k < m->waiting; k++) at += m->queue[k].duration;
    if (at > end) end = at;
  }
  if (c->remembered == VALVE_WINDOW) {
    memmove(c->done, c->done + 1, sizeof c->done - sizeof c->done[0]);
    memmove(c->ends, c->ends + 1, sizeof c->ends - sizeof c->ends[0]);
    c->remembered--;
  }
  c->done[c->remembered] = seq;
  c->ends[c->remembered++] = (uint32_t)end;
  serial_ack(&c->link, seq, SET_TIMED, (uint32_t)end);
}

static bool right_size(uint8_t type, const uint8_t *body, size_t size) {
  if (serial_body(type) >= 0) return (int)size == serial_body(type);
  switch (type) {
    case ABORT_ALL: case VENT_ALL: return size == 0;
    case SET_TIMED: return size >= 3 && size == 3u + 4u * body[2];
    case SET_BITMAP: return size == 18;
    case SET_PAIRS: return size % 2 == 0;
    case STATUS: return size == 35;
    case VALVE_TIMES: return size >= 4 && (size - 4) % 6 == 0;
    case LENGTHS: return size >= 4 && size % 2 == 0;
    default: return false;
  }
}

static bool known(uint8_t type) {
  return serial_body(type) >= 0 || (type >= SET_TIMED && type <= SET_PAIRS) ||
         (type >= STATUS && type <= LENGTHS);
}

static void receive(valve_core *c, const uint8_t *data, size_t size) {
  const uint8_t type = data[1], *body = data + 4;
  const uint16_t seq = (uint16_t)serial_get(data + 2, 2);
  int reason = 0;
  uint32_t who = 0;
  size -= SERIAL_HEAD; /* of the body */
  if (c->state == VALVE_BOOT) return;
  if (data[0] >> 4 != MAJOR) {
    serial_nack(&c->link, seq, type, VERSION, 0);
    return;
  }
  c->heard = c->tick;
  if (!known(type)) reason = UNKNOWN_TYPE;
  else if (!right_size(type, body, size)) reason = BAD_LENGTH;
  else if ((type == HEARTBEAT || type == ARM || type == RESET) && serial_get(body, 4) != c->session)
    reason = SESSION;
  else if (type == HELLO) { on_hello(c, body); return; }
  else if (type == SET_TIMED) { on_timed(c, seq, body); return; }
  else if (type == DISARM || type == VENT_ALL) vc_vent(c);
  else if (type == ABORT_ALL) vc_drop(c);
  else if (type == ARM) reason = on_arm(c);
  else if (type == RESET) {
    c->faults = 0;
    c->low_since = NEVER;
    c->flags &= (uint8_t)~TRIPPED;
    c->state = VALVE_SAFE;
  } else if (type == SET_PAIRS) reason = on_pairs(c, body, size);
  else if (type == SET_BITMAP) reason = on_bitmap(c, body, &who);
  else if (type != HEARTBEAT) reason = UNKNOWN_TYPE;
  if (reason) serial_nack(&c->link, seq, type, (uint8_t)reason, who);
  else serial_ack(&c->link, seq, type, vc_now(c));
}

/* What goes on by itself ---------------------------------------------------------------------- */

static void watchdog(valve_core *c) {
  const int64_t silent = c->tick - c->heard;
  if (silent < c->config.watchdog) return;
  if (c->state == VALVE_ARMED || (vc_busy(c) && !vc_venting(c))) {
    vc_drop(c);
    c->flags |= TRIPPED;
    if (c->state == VALVE_ARMED) c->state = VALVE_SAFE;
  }
  if (silent >= c->config.watchdog + VENT_AFTER && !(c->flags & VENTED) && !vc_venting(c)) vc_vent(c);
}

static void check_supply(valve_core *c) {
  if (!vc_supply_low(c)) {
    c->low_since = NEVER;
    return;
  }
  if (c->low_since == NEVER) c->low_since = c->tick;
  if (c->tick - c->low_since >= SUPPLY_FAULT_AFTER && c->state == VALVE_ARMED) {
    c->faults |= FAULT_SUPPLY;
    vc_vent(c);
    c->state = VALVE_FAULT;
  }
}

static void report(valve_core *c) {
  serial_buffer b;
  uint32_t active = 0, queued = 0, done = 0;
  double net = 0.0;
  serial_begin(&b, &c->link, VALVE_TIMES);
  serial_put(&b, vc_now(c), 4);
  for (int i = 0; i < c->count; i++) {
    const valve_muscle *m = &c->muscles[i];
    uint32_t worked[2] = {m->worked[0], m->worked[1]};
    if (m->running != HOLD) worked[m->running - 1] += (uint32_t)(c->tick - m->began);
    serial_put(&b, worked[0], 2);
    serial_put(&b, worked[1], 2);
    serial_put(&b, m->switched[0], 1);
    serial_put(&b, m->switched[1], 1);
    if (m->running != HOLD || m->waiting) active |= (uint32_t)1 << i;
    queued += m->waiting;
    if (m->net > net) net = m->net;
  }
  serial_finish(&b, &c->link);
  if (c->config.sensors) {
    serial_begin(&b, &c->link, LENGTHS);
    serial_put(&b, vc_now(c), 4);
    for (int i = 0; i < c->count; i++) serial_put(&b, c->hw.length(c->hw.board, (uint8_t)i), 2);
    serial_finish(&b, &c->link);
  }
  for (int k = 0; k < c->remembered; k++) {
    const uint16_t behind = (uint16_t)(c->last_seq - c->done[k]);
    if (behind < VALVE_WINDOW) done |= (uint32_t)1 << behind;
  }
  const double left = c->config.budget - rint(net);
  serial_begin(&b, &c->link, STATUS);
  serial_put(&b, vc_now(c), 4);
  serial_put(&b, c->config.boot_id, 2);
  serial_put(&b, c->state, 1);
  serial_put(&b, (uint64_t)(c->flags | (vc_venting(c) ? VENTING : 0)), 1);
  serial_put(&b, c->coils, 8);
  serial_put(&b, active, 4);
  serial_put(&b, queued < 255 ? queued : 255, 1);
  serial_put(&b, c->last_seq, 2);
  serial_put(&b, done, 2);
  serial_put(&b, left > 0.0 ? (uint64_t)left : 0, 2);
  serial_put(&b, c->link.crc_errors, 2);
  serial_put(&b, c->hw.battery(c->hw.board), 2);
  serial_put(&b, (uint64_t)rint(c->hw.supply(c->hw.board) / 100.0), 2);
  serial_put(&b, c->faults, 2);
  serial_finish(&b, &c->link);
}

void valve_core_init(valve_core *core, const valve_config *config, const valve_hw *hw) {
  uint8_t pairs[2 * FIRST_MUSCLES];
  memset(core, 0, sizeof *core);
  core->config = *config;
  core->hw = *hw;
  core->low_since = core->bitmap_until = NEVER;
  core->told = config->in_order;
  core->link.minor = config->in_order ? 0 : 1;
  core->link.board = hw->board;
  core->link.send = hw->send;
  for (int i = 0; i < 2 * FIRST_MUSCLES; i++) pairs[i] = (uint8_t)i;
  vc_use_pairs(core, pairs, config->in_order ? FIRST_MUSCLES : 0);
}

void valve_core_byte(valve_core *core, uint8_t byte) {
  uint8_t data[SERIAL_MAX_FRAME];
  const size_t size = serial_take(&core->link, byte, data);
  if (size) receive(core, data, size);
}

void valve_core_tick(valve_core *core) {
  core->tick++;
  if (core->state == VALVE_BOOT) {
    if (core->tick >= BOOTING) {
      core->state = VALVE_SAFE;
      core->heard = core->tick;
      hello_ack(core);
    }
    return;
  }
  vc_step(core);
  watchdog(core);
  check_supply(core);
  if (core->bitmap_until != NEVER && core->tick >= core->bitmap_until) {
    core->bitmap_until = NEVER;
    vc_drop(core);
  }
  if (core->tick >= core->status_at) {
    core->status_at = core->tick + STATUS_PERIOD;
    report(core);
  }
}
