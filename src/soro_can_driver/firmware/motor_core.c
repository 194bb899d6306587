/* Copyright 2026 soro contributors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Frames, session, states.
 */
#include "motor_parts.h"

#include <math.h>
#include <string.h>

static const int32_t TTL_MS[8] = {4, 10, 20, 50, 100, 150, 200, 200};
static const uint8_t FIRMWARE_NUMBER[2] = {1, 0};

typedef struct { uint8_t bytes[MOTOR_MAX_FRAME]; uint8_t size; } buffer;

static void put(buffer *b, int64_t value, int size) {
  for (int i = 0; i < size; i++) b->bytes[b->size++] = (uint8_t)((uint64_t)value >> 8 * i);
}

static uint32_t get(const uint8_t *at, int size) {
  uint32_t value = 0;
  for (int i = size; i-- > 0;) value = value << 8 | at[i];
  return value;
}

static int16_t angle_at(const uint8_t *at) {
  const int32_t value = (int32_t)get(at, 2);
  return (int16_t)(value >= 0x8000 ? value - 0x10000 : value);
}

static void send(motor_core *c, uint16_t id, const buffer *b) {
  c->hw.send(c->hw.board, id, b->bytes, b->size);
}

static int32_t whole(double x, int32_t low, int32_t high) {
  const double y = rint(x);
  return y < low ? low : y > high ? high : (int32_t)y;
}

static int groups_of(int count) { return (count + MOTOR_GROUP - 1) / MOTOR_GROUP; }

static bool driven(const motor_core *c) {
  return c->state == MOTOR_ARMED || c->state == MOTOR_HOLDING;
}

static void aim_here(motor_core *c) {
  for (int i = 0; i < c->config.motors; i++) c->target[i] = c->hw.encoder(c->hw.board, (uint8_t)i);
}

/* What the board says --------------------------------------------------------------------------- */

static void report(motor_core *c, uint8_t code, uint32_t motors) {
  buffer b = {{0}, 0};
  c->faults |= (uint32_t)1 << code;
  put(&b, code, 2);
  if (c->wide) {
    put(&b, motors, 4);
  } else {
    put(&b, motors, 1);
    put(&b, 0, 2); /* no detail */
  }
  put(&b, c->config.boot_id, 2);
  if (!c->wide) put(&b, 0, 1);
  send(c, c->wide ? ID_EMERGENCY_WIDE : ID_EMERGENCY, &b);
}

static void stop(motor_core *c, motor_state state, uint8_t code, uint32_t motors) {
  if (c->state == MOTOR_ESTOP) return;
  c->state = state;
  report(c, code, motors);
}

static int32_t angle_of(const motor_core *c, int i) {
  return i < c->config.motors ? whole(c->hw.encoder(c->hw.board, (uint8_t)i), -32768, 32767) : 0;
}

static int32_t speed_of(const motor_core *c, int i) {
  return i < c->config.motors ? whole(c->hw.speed(c->hw.board, (uint8_t)i), -32768, 32767) : 0;
}

static int32_t sample_of(const motor_core *c, int i) {
  if (i >= c->config.inputs) return 0;
  const int32_t counts = whole(c->hw.flex(c->hw.board, (uint8_t)i), 0, FLEX_TOP);
  return counts | FLEX_FRESH | (counts > 0 && counts < FLEX_TOP ? 0 : FLEX_OUT);
}

static void measure_fd(motor_core *c) {
  buffer b = {{0}, 0};
  put(&b, c->seq, 1);
  put(&b, c->state | c->status, 1);
  put(&b, c->hw.temperature(c->hw.board), 1);
  put(&b, 0, 1);
  for (int i = 0; i < FIRST_MOTORS; i++) put(&b, angle_of(c, i), 2);
  for (int i = 0; i < FIRST_MOTORS; i++) put(&b, speed_of(c, i), 2);
  for (int i = 0; i < FIRST_MOTORS; i++) put(&b, sample_of(c, i), 2);
  put(&b, c->hw.microseconds(c->hw.board), 4);
  put(&b, 0, 4);
  send(c, ID_FEEDBACK_FD, &b);
}

static void measure(motor_core *c) {
  const int groups = groups_of(c->config.motors);
  int flex = groups_of(c->wide ? c->config.inputs : FIRST_MOTORS);
  if (c->fd) {
    measure_fd(c);
    return;
  }
  if (!flex) flex = 1; /* the counter of the SYNC comes back at least once */
  c->duty_motor = (uint8_t)((c->duty_motor + 1) % MOTOR_GROUP);
  for (int g = 0; g < groups || g < flex; g++) {
    const int first = MOTOR_GROUP * g;
    if (g < groups) {
      buffer b = {{0}, 0}, v = {{0}, 0};
      put(&b, c->seq, 1);
      put(&b, c->state | c->status, 1);
      for (int i = 0; i < MOTOR_GROUP; i++) put(&b, angle_of(c, first + i), 2);
      for (int i = 0; i < MOTOR_GROUP; i++) put(&v, speed_of(c, first + i), 2);
      put(&v, c->duty_motor, 1);
      put(&v, 0, 1);
      send(c, (uint16_t)(ID_POSITION + g), &b);
      send(c, (uint16_t)(ID_VELOCITY + g), &v);
    }
    if (g < flex) {
      buffer b = {{0}, 0};
      for (int i = 0; i < MOTOR_GROUP; i++) put(&b, sample_of(c, first + i), 2);
      put(&b, c->sync, 1);
      put(&b, c->hw.temperature(c->hw.board), 1);
      send(c, (uint16_t)(ID_FLEX + g), &b);
    }
  }
}

/* Set-points ------------------------------------------------------------------------------------ */

static void apply(motor_core *c, uint8_t seq, uint8_t ttl, const double *angles) {
  const uint8_t ahead = (uint8_t)(seq - c->seq);
  bool cut = false;
  if (c->state != MOTOR_ARMED) return;
  if (!c->first && !(ahead > 0 && ahead < 128)) return; /* again, or older than the last one */
  if (c->first) {
    const uint32_t far = mc_far(c, angles);
    if (far) {
      stop(c, MOTOR_FAULT, FIRST_COMMAND, far);
      return;
    }
  }
  for (int i = 0; i < c->config.motors; i++) {
    const double last = c->target[i];
    const int numbers = ahead < MAX_LOST ? ahead : MAX_LOST;
    c->target[i] = c->first ? mc_within(&c->axis[i], angles[i])
                            : mc_shape(&c->axis[i], angles[i], last, numbers);
    cut |= c->target[i] != angles[i];
  }
  c->first = false;
  c->status = (uint8_t)((c->status & ~SATURATED) | (cut ? SATURATED : 0));
  c->seq = seq;
  c->command_at = c->tick;
  c->ttl = TTL_MS[ttl];
}

static void apply_groups(motor_core *c) {
  const int groups = groups_of(c->config.motors);
  int there = 0, wanted = 0;
  bool same = true, enabled = true;
  double angles[MOTOR_GROUP * MOTOR_GROUPS];
  for (int g = 0; g < MOTOR_GROUPS; g++) {
    motor_command *part = &c->received[g];
    if (!part->there) continue;
    part->there = false;
    there++;
    if (g >= groups) continue;
    wanted++;
    same &= part->seq == c->received[0].seq;
    enabled &= part->enable;
    for (int i = 0; i < MOTOR_GROUP; i++) angles[MOTOR_GROUP * g + i] = part->angle[i];
  }
  if (!there) return;
  if (wanted != groups || there != groups || !same) {
    c->status |= TORN;
    return;
  }
  c->status &= (uint8_t)~TORN;
  if (enabled) apply(c, c->received[0].seq, c->received[0].ttl, angles);
}

/* A control byte has enable, a mode of 0 to 2, a code of the time to live, and nothing else. */
static bool control_valid(uint8_t control) { return (control >> 1 & 3) < 3 && !(control & 0xC0); }

static void on_command(motor_core *c, int group, const uint8_t *data) {
  motor_command *part = &c->received[group];
  if (!control_valid(data[1])) return;
  part->there = true;
  part->seq = data[0];
  part->enable = data[1] & 1;
  part->ttl = data[1] >> 3 & 7;
  for (int i = 0; i < MOTOR_GROUP; i++) part->angle[i] = angle_at(data + 2 + 2 * i);
}

static void on_command_fd(motor_core *c, const uint8_t *data) {
  double angles[FIRST_MOTORS];
  if (!control_valid(data[1])) return;
  for (int i = 0; i < FIRST_MOTORS; i++) angles[i] = angle_at(data + 2 + 2 * i);
  if (data[1] & 1 && c->config.motors == FIRST_MOTORS) apply(c, data[0], data[1] >> 3 & 7, angles);
  measure(c);
}

/* Parameters: a value, or an abort code with `refused` ------------------------------------------- */

static int32_t change_state(motor_core *c, int index, int32_t value, bool *refused) {
  *refused = true;
  if (index != ARM && index != RESET) {
    const bool known = (index >= PROTOCOL && index <= FLEX_INPUTS) || index == FAULTS;
    return known ? READ_ONLY : UNKNOWN_PARAMETER;
  }
  if (value != c->session || !c->session) return WRONG_SESSION;
  if (index == RESET) {
    *refused = false;
    if (c->state == MOTOR_FAULT || c->state == MOTOR_ESTOP) c->state = MOTOR_SAFE;
    c->faults = 0;
    c->status = 0;
    return 0;
  }
  if (c->state != MOTOR_SAFE && !driven(c)) return WRONG_STATE;
  *refused = false;
  c->state = MOTOR_ARMED;
  c->status = 0;
  c->first = true;
  c->ttl = -1; /* the first command brings one; until then the heartbeat alone stands guard */
  c->host_at = c->tick;
  aim_here(c);
  mc_watch_restart(c);
  return 0;
}

static int32_t write(motor_core *c, int index, uint8_t sub, int32_t value, bool *refused) {
  if (index == SESSION) {
    c->session = value;
    c->host_at = c->tick;
    return c->config.boot_id;
  }
  if (index >= MINIMUM_ANGLE && index <= MAXIMUM_ERROR) {
    *refused = !mc_limit(c, index, sub, value);
    return *refused ? OUT_OF_RANGE : 0;
  }
  if (index == FRAMING) {
    *refused = value && (c->config.motors != FIRST_MOTORS || c->config.inputs != FIRST_MOTORS);
    if (!*refused) c->fd = value != 0;
    return *refused ? OUT_OF_RANGE : 0;
  }
  if (index == DISARM) {
    if (driven(c)) c->state = MOTOR_SAFE;
    return 0;
  }
  return change_state(c, index, value, refused);
}

static int32_t read(const motor_core *c, int index, bool *refused) {
  switch (index) {
    case PROTOCOL: return MAJOR << 8 | (c->wide ? 1 : 0);
    case SERIAL: return c->config.serial;
    case FIRMWARE: return FIRMWARE_NUMBER[0] << 8 | FIRMWARE_NUMBER[1];
    case CHANNELS: return c->config.motors;
    case FLEX_INPUTS: return c->config.inputs;
    case FRAMING: return c->fd;
    case FAULTS: return (int32_t)c->faults;
    default: *refused = true; return UNKNOWN_PARAMETER;
  }
}

static void on_request(motor_core *c, const uint8_t *data) {
  const uint8_t access = data[0], sub = data[3];
  const int index = (int)get(data + 1, 2);
  const int64_t raw = get(data + 4, 4);
  const int32_t value = (int32_t)(raw >= 0x80000000LL ? raw - 0x100000000LL : raw);
  bool refused = false;
  buffer b = {{0}, 0};
  if (access != WRITE && access != READ && access != VALUE && access != DONE && access != ABORT) return;
  const int32_t said = access == WRITE ? write(c, index, sub, value, &refused) : read(c, index, &refused);
  put(&b, refused ? ABORT : access == WRITE ? DONE : VALUE, 1);
  put(&b, index, 2);
  put(&b, sub, 1);
  put(&b, said, 4);
  send(c, ID_REPLY, &b);
}

/* What the board calls --------------------------------------------------------------------------- */

void motor_core_init(motor_core *core, const motor_config *config, const motor_hw *hw) {
  memset(core, 0, sizeof *core);
  core->config = *config;
  core->hw = *hw;
  core->state = MOTOR_SAFE;
  core->wide = config->motors != FIRST_MOTORS || (config->inputs && config->inputs != FIRST_MOTORS);
  core->ttl = -1;
  core->host_at = -HOST_TIMEOUT;
  mc_limits_none(core);
  mc_watch_restart(core);
  mc_jumped(core);
  aim_here(core);
}

void motor_core_receive(motor_core *core, uint16_t id, const uint8_t *data, uint8_t size) {
  if (id == ID_ESTOP && size == 3 && get(data, 2) == 0x5AA5) stop(core, MOTOR_ESTOP, ESTOP, 0);
  else if (id == ID_HOST && size == 4) {
    if (get(data, 4) == core->session) core->host_at = core->tick;
  } else if (id >= ID_COMMAND && id < ID_COMMAND + MOTOR_GROUPS && size == 8)
    on_command(core, id - ID_COMMAND, data);
  else if (id == ID_SYNC && size == 1) {
    core->sync = data[0];
    apply_groups(core);
    measure(core);
  } else if (id == ID_COMMAND_FD && size == 16) on_command_fd(core, data);
  else if (id == ID_REQUEST && size == 8) on_request(core, data);
}

static void watch(motor_core *c) {
  const int64_t quiet = c->tick - c->command_at;
  if (c->state == MOTOR_ARMED) {
    if (c->ttl >= 0 && quiet >= c->ttl) {
      c->state = MOTOR_HOLDING;
      c->status |= EXPIRED;
      aim_here(c);
      report(c, COMMAND_LOST, 0);
    } else if (c->tick - c->host_at >= HOST_TIMEOUT)
      stop(c, MOTOR_SAFE, COMMAND_LOST, 0);
  } else if (c->state == MOTOR_HOLDING && quiet >= c->ttl + HOLD_TIME)
    c->state = MOTOR_SAFE;
}

void motor_core_tick(motor_core *core) {
  uint32_t motors = mc_jumped(core);
  core->tick++;
  if (motors && driven(core)) stop(core, MOTOR_FAULT, ENCODER_JUMP, motors);
  watch(core);
  for (int i = 0; i < core->config.motors; i++)
    core->hw.drive(core->hw.board, (uint8_t)i, driven(core), core->target[i]);
  if (core->state == MOTOR_ARMED) {
    const uint8_t code = mc_judge(core, &motors);
    if (code) stop(core, MOTOR_FAULT, code, motors);
  }
  if (core->tick - core->heartbeat_at >= HEARTBEAT) {
    buffer b = {{0}, 0};
    core->heartbeat_at = core->tick;
    put(&b, core->state, 1);
    put(&b, core->config.boot_id, 2);
    put(&b, 0, 2); /* error counters of the controller */
    put(&b, FIRMWARE_NUMBER[0], 1);
    put(&b, FIRMWARE_NUMBER[1], 1);
    put(&b, MAJOR, 1);
    send(core, ID_BOARD, &b);
  }
}

void motor_core_fail(motor_core *core, uint8_t code, uint32_t motors) {
  stop(core, MOTOR_FAULT, code, motors);
}
