/* Copyright 2026 soro contributors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Session, set-points, watchdog, what is judged, reports.
 */
#include "pressure_core.h"

#include <math.h>
#include <string.h>

enum { COMMAND = 0x10, LIMITS, FEEDBACK = 0x90, STATUS };
enum { ENABLE = 1, STOP = 2, VENT = 4 };
enum { EXPIRED = 1, OVER_PRESSURE = 2, SENSOR = 4, NO_PRESSURE = 8, STOPPED = 16, LIMITED = 1 << 15 };
enum {
  KIND = 1, FIRST_CHANNELS = 3, FULL_SCALE = 40000, INVALID = 0xFFFF, SHORTEST_PERIOD = 20,
  MIN_TTL = 20, MAX_TTL = 500, IDLE_TTL = 1000, BOOTING = 200, STATUS_PERIOD = 500, /* ms */
  NEVER = -1
};
static const uint16_t BITS[PRESSURE_JUDGED] = {SENSOR, OVER_PRESSURE, NO_PRESSURE};
static const int64_t HOLD[PRESSURE_JUDGED] = {50, 50, 500}; /* ms without a break */
static const double SCALE = 40e3, COUNT = 10.0, LOWEST = -0.1, HIGHEST = 10.2; /* Pa/V, Pa, V, V */
static const double RAMP = 200e3, MARGIN = 20e3, COMMANDED = 20e3, NOTHING = 2e3, BAND = 20e3;

static bool loose(const pressure_core *c) {
  return c->state == PRESSURE_FAULT || c->state == PRESSURE_ESTOP;
}

static double measure(const pressure_core *c, int i) {
  return c->hw.monitor(c->hw.board, (uint8_t)i);
}

static bool broken(double volts) { return !(volts >= LOWEST && volts <= HIGHEST); }

static void put_out(pressure_core *c, int i, double pressure) {
  c->applied[i] = pressure;
  c->hw.command(c->hw.board, (uint8_t)i, pressure / SCALE);
}

static bool any(const pressure_core *c, const double *values) {
  for (int i = 0; i < c->config.channels; i++)
    if (values[i] != 0.0) return true;
  return false;
}

/* Zero volt at once, dump valve open. */
static void off(pressure_core *c) {
  c->ramping = false;
  for (int i = 0; i < c->config.channels; i++) {
    c->target[i] = 0.0;
    put_out(c, i, 0.0);
  }
  c->hw.dump(c->hw.board, true);
}

static void trip(pressure_core *c, pressure_state state, uint16_t faults) {
  c->faults |= faults;
  off(c);
  if (c->state != PRESSURE_ESTOP) c->state = state;
}

static void disarm(pressure_core *c) {
  off(c);
  if (!loose(c)) c->state = PRESSURE_SAFE;
}

/* What the host says --------------------------------------------------------------------------- */

static void identify(pressure_core *c, uint32_t session) {
  const serial_identity me = {
    session, c->config.serial, c->config.boot_id, KIND, c->state, c->config.channels,
    MIN_TTL, MAX_TTL, 0, FULL_SCALE
  };
  serial_identify(&c->link, &me);
}

static void on_hello(pressure_core *c, const uint8_t *body) {
  const uint32_t session = (uint32_t)serial_get(body, 4);
  if (session != c->session) { /* another host: nothing of the old one counts */
    off(c);
    if (c->state == PRESSURE_ARMED) c->state = PRESSURE_SAFE;
    c->session = session;
    c->commanded = false;
    c->period = 0;
    c->link.minor = body[5] < NEWEST_MINOR ? body[5] : NEWEST_MINOR;
  }
  identify(c, session);
}

static int on_command(pressure_core *c, uint16_t seq, const uint8_t *body, int count) {
  const uint16_t ahead = (uint16_t)(seq - c->last);
  double wanted[PRESSURE_CHANNELS];
  if (body[1] & STOP) trip(c, PRESSURE_ESTOP, STOPPED);
  else if (body[1] & VENT) disarm(c);
  if (body[1] & (STOP | VENT)) return 0;
  if (!c->session) return SESSION;
  if (c->commanded && !(ahead > 0 && ahead < 0x8000)) {
    c->stale++;
    return 0;
  }
  if (!(body[1] & ENABLE)) return 0;
  if (c->state != PRESSURE_ARMED) return STATE;
  if (count != c->config.channels) return BAD_LENGTH;
  for (int i = 0; i < count; i++) {
    wanted[i] = (double)serial_get(body + 2 + 2 * i, 2) * COUNT;
    if (c->first && !(fabs(wanted[i] - measure(c, i) * SCALE) <= BAND)) return OUT_OF_RANGE;
  }
  c->first = false;
  c->faults &= (uint16_t)~LIMITED;
  for (int i = 0; i < count; i++) {
    c->target[i] = wanted[i] < c->maximum[i] ? wanted[i] : c->maximum[i];
    if (c->target[i] != wanted[i]) c->faults |= LIMITED;
  }
  c->last = seq;
  c->commanded = true;
  c->command_at = c->tick;
  c->ttl = 2 * body[0] < MIN_TTL ? MIN_TTL : 2 * body[0] > MAX_TTL ? MAX_TTL : 2 * body[0];
  return 0;
}

static int on_limits(pressure_core *c, const uint8_t *body, int count) {
  const uint16_t rate = (uint16_t)serial_get(body + 2 * count, 2);
  const uint16_t period = (uint16_t)serial_get(body + 2 * count + 2, 2);
  if (!c->link.minor && c->config.channels != FIRST_CHANNELS) return VERSION;
  if (count != c->config.channels) return BAD_LENGTH;
  if (!rate || period < SHORTEST_PERIOD) return OUT_OF_RANGE;
  for (int i = 0; i < count; i++)
    if (serial_get(body + 2 * i, 2) > FULL_SCALE) return OUT_OF_RANGE;
  if (c->state == PRESSURE_ARMED) return STATE;
  for (int i = 0; i < count; i++) c->maximum[i] = (double)serial_get(body + 2 * i, 2) * COUNT;
  c->rate = rate * 100.0;
  c->period = period;
  c->feedback_at = 10 * c->tick;
  return 0;
}

static int on_arm(pressure_core *c) {
  if (loose(c) || !c->period) return STATE;
  if (c->state != PRESSURE_ARMED) {
    c->faults = c->meant = 0;
    for (int i = 0; i < c->config.channels; i++) { /* bumpless: from where the robot is */
      double here = measure(c, i) * SCALE;
      if (here > c->maximum[i]) here = c->maximum[i];
      if (!(here >= BAND)) here = 0.0; /* the dump valve has let it down */
      c->target[i] = c->applied[i] = here;
    }
    c->ramping = false;
    c->hw.dump(c->hw.board, false);
    c->state = PRESSURE_ARMED;
  }
  c->command_at = c->tick;
  c->ttl = IDLE_TTL;
  c->first = true;
  return 0;
}

/* How many channels a body of this length speaks of, or -1; 0: right, and no business of it. */
static int channels_in(uint8_t type, size_t size) {
  const size_t fixed = type == COMMAND ? 2 : type == LIMITS ? 4 : size % 4 ? 10 : 12;
  const size_t each = type == FEEDBACK ? 4 : 2;
  if (serial_body(type) >= 0) return (int)size == serial_body(type) ? 0 : -1;
  if (type == STATUS) return size == 20 ? 0 : -1;
  if (size < fixed + each || (size - fixed) % each) return -1;
  return (size - fixed) / each <= PRESSURE_CHANNELS ? (int)((size - fixed) / each) : -1;
}

static int act(pressure_core *c, const uint8_t *data, uint16_t seq, int count, bool *answered) {
  const uint8_t type = data[1], *body = data + SERIAL_HEAD;
  const bool named = type == HELLO_ACK || type == HEARTBEAT || type == ARM || type == RESET;
  *answered = type != COMMAND && type != HEARTBEAT;
  if (type == DISARM) disarm(c);
  if (type == DISARM) return 0;
  if (type == COMMAND) return on_command(c, seq, body, count);
  if (!c->session || (named && serial_get(body, 4) != c->session)) return SESSION;
  if (type == LIMITS) return on_limits(c, body, count);
  if (type == ARM) return on_arm(c);
  if (type == RESET) {
    c->faults = c->meant = 0;
    if (loose(c)) {
      off(c);
      c->state = PRESSURE_SAFE;
    }
    return 0;
  }
  return type == HEARTBEAT ? 0 : UNKNOWN_TYPE; /* a frame that only devices send */
}

static void receive(pressure_core *c, const uint8_t *data, size_t size) {
  const uint8_t type = data[1];
  const uint16_t seq = (uint16_t)serial_get(data + 2, 2);
  const bool known = serial_body(type) >= 0 || type == COMMAND || type == LIMITS ||
                     type == FEEDBACK || type == STATUS;
  const int count = known ? channels_in(type, size - SERIAL_HEAD) : -1;
  bool answered = true;
  int reason = 0;
  if (c->state == PRESSURE_BOOT) return;
  if (type != HELLO && data[0] >> 4 != MAJOR) reason = VERSION;
  else if (!known) reason = UNKNOWN_TYPE;
  else if (count < 0) reason = BAD_LENGTH;
  else if (type == HELLO) { on_hello(c, data + SERIAL_HEAD); return; }
  else reason = act(c, data, seq, count, &answered);
  if (reason) {
    c->refused++;
    serial_nack(&c->link, seq, type, (uint8_t)reason, 0);
  } else if (answered)
    serial_ack(&c->link, seq, type, 0);
}

/* What goes on by itself ------------------------------------------------------------------------ */

static void judge(pressure_core *c) {
  const bool armed = c->state == PRESSURE_ARMED;
  bool wrong[PRESSURE_JUDGED][PRESSURE_CHANNELS];
  for (int i = 0; i < c->config.channels; i++) {
    const double volts = c->volts[i] = measure(c, i), pressure = volts * SCALE;
    wrong[0][i] = armed && broken(volts);
    wrong[1][i] = !broken(volts) && pressure > c->maximum[i] + MARGIN;
    wrong[2][i] = armed && !broken(volts) && c->applied[i] > COMMANDED && pressure < NOTHING;
  }
  for (int k = 0; k < PRESSURE_JUDGED; k++) {
    uint16_t lasting = 0;
    if (BITS[k] == OVER_PRESSURE && !c->period) continue; /* no limits yet */
    for (int i = 0; i < c->config.channels; i++) {
      if (!wrong[k][i]) c->since[k][i] = NEVER;
      else if (c->since[k][i] == NEVER) c->since[k][i] = c->tick;
      if (wrong[k][i] && c->tick - c->since[k][i] >= HOLD[k]) lasting |= (uint16_t)(1 << i);
    }
    c->meant |= lasting;
    if (lasting) trip(c, PRESSURE_FAULT, BITS[k]);
  }
}

static void control(pressure_core *c) {
  const int64_t quiet = c->tick - c->command_at;
  const int32_t allowed = any(c, c->target) || any(c, c->applied) ? c->ttl : IDLE_TTL;
  if (c->state == PRESSURE_ARMED && quiet >= allowed) {
    c->faults |= EXPIRED;
    c->expired++;
    c->ramping = true;
    memset(c->target, 0, sizeof c->target);
    c->state = PRESSURE_SAFE;
  }
  judge(c);
  if (c->state != PRESSURE_ARMED && !c->ramping) return;
  const double most = (c->ramping ? RAMP : c->rate) * c->config.period;
  for (int i = 0; i < c->config.channels; i++) {
    const double step = c->target[i] - c->applied[i];
    put_out(c, i, c->applied[i] + (step < -most ? -most : step > most ? most : step));
  }
  if (c->ramping && !any(c, c->applied)) off(c);
}

static void report(pressure_core *c) {
  const int64_t age = c->command_at == NEVER ? 255 : c->tick - c->command_at;
  serial_buffer b;
  serial_begin(&b, &c->link, FEEDBACK);
  serial_put(&b, c->commanded ? c->last : 0, 2);
  serial_put(&b, c->hw.microseconds(c->hw.board), 4);
  for (int i = 0; i < c->config.channels; i++) {
    double counts = broken(c->volts[i]) ? INVALID : rint(c->volts[i] * SCALE / COUNT);
    serial_put(&b, counts > 0.0 ? (uint64_t)counts : 0, 2);
  }
  for (int i = 0; i < c->config.channels; i++) serial_put(&b, (uint64_t)rint(c->applied[i] / COUNT), 2);
  serial_put(&b, c->state, 1);
  serial_put(&b, (uint64_t)(age < 255 ? age : 255), 1);
  serial_put(&b, (uint64_t)(c->faults | (c->link.minor ? 0 : c->meant << 8)), 2);
  if (c->link.minor) serial_put(&b, c->meant, 2);
  serial_finish(&b, &c->link);
}

static void count(pressure_core *c) {
  serial_buffer b;
  serial_begin(&b, &c->link, STATUS);
  serial_put(&b, c->config.boot_id, 4);
  serial_put(&b, c->link.frames, 4);
  serial_put(&b, c->link.crc_errors, 4);
  serial_put(&b, c->link.malformed, 4);
  serial_put(&b, c->refused, 2);
  serial_put(&b, c->expired, 2);
  serial_finish(&b, &c->link);
}

/* What the task calls ---------------------------------------------------------------------------- */

void pressure_core_init(pressure_core *core, const pressure_config *config, const pressure_hw *hw) {
  memset(core, 0, sizeof *core);
  core->config = *config;
  core->hw = *hw;
  core->link.board = hw->board;
  core->link.send = hw->send;
  core->link.minor = config->channels == FIRST_CHANNELS ? 0 : 1;
  core->rate = RAMP;
  core->command_at = NEVER;
  for (int k = 0; k < PRESSURE_JUDGED; k++)
    for (int i = 0; i < PRESSURE_CHANNELS; i++) core->since[k][i] = NEVER;
  off(core);
}

void pressure_core_byte(pressure_core *core, uint8_t byte) {
  uint8_t data[SERIAL_MAX_FRAME];
  const size_t size = serial_take(&core->link, byte, data);
  if (size) receive(core, data, size);
}

void pressure_core_tick(pressure_core *core) {
  core->tick++;
  control(core);
  if (core->state == PRESSURE_BOOT) {
    if (core->tick < BOOTING) return;
    core->state = PRESSURE_SAFE;
    identify(core, 0); /* says that it has started */
    return;
  }
  if (!core->session || !core->period) return;
  const int64_t waited = 10 * core->tick - core->feedback_at;
  if (waited >= core->period) {
    core->feedback_at = waited >= 2 * core->period ? 10 * core->tick : core->feedback_at + core->period;
    report(core);
  }
  if (core->tick - core->status_at >= STATUS_PERIOD) {
    core->status_at = core->tick;
    count(core);
  }
}
