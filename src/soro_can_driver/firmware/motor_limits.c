/* Copyright 2026 soro contributors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the motors may do, and what is a fault. A board that was told no limits keeps none.
 */
#include "motor_parts.h"

#include <math.h>

static const double FIRST_BAND = 100.0;                        /* 0.1 deg beyond a step */
static const double REVERSE_BAND = 50.0, REVERSE_SPEED = 50.0; /* 0.1 deg, deg/s */
static const double JUMP = 2.0 * 10.0 * 1e-3;                  /* 0.1 deg in a tick, per deg/s */

void mc_limits_none(motor_core *c) {
  for (int i = 0; i < MOTOR_MAX; i++) {
    motor_axis *a = &c->axis[i];
    a->low = -32767.0;
    a->high = 32767.0;
    a->speed = a->step = a->error = INFINITY;
  }
}

bool mc_limit(motor_core *c, int index, uint8_t motor, int32_t value) {
  motor_axis *a = &c->axis[motor % MOTOR_MAX];
  if (motor >= c->config.motors) return false;
  if (index == MINIMUM_ANGLE) a->low = value;
  else if (index == MAXIMUM_ANGLE) a->high = value;
  else if (value <= 0) return false; /* a negative speed would turn motors at rest */
  else if (index == MAXIMUM_SPEED) a->speed = value;
  else if (index == MAXIMUM_STEP) a->step = value;
  else a->error = value;
  return true;
}

static double clip(double x, double low, double high) {
  const double above = x < low ? low : x;
  return above > high ? high : above;
}

double mc_within(const motor_axis *a, double angle) { return clip(angle, a->low, a->high); }

uint32_t mc_far(const motor_core *c, const double *first) {
  uint32_t far = 0;
  for (int i = 0; i < c->config.motors; i++) {
    const motor_axis *a = &c->axis[i];
    const double way = fabs(mc_within(a, first[i]) - mc_within(a, c->target[i]));
    if (way > a->step + FIRST_BAND) far |= (uint32_t)1 << i;
  }
  return far;
}

/* In range, and a step for every number since the last: the host went on with each of them. */
double mc_shape(const motor_axis *a, double wanted, double last, int numbers) {
  const double here = mc_within(a, last), most = a->step * (numbers > 1 ? numbers : 1);
  return clip(mc_within(a, wanted), here - most, here + most);
}

void mc_watch_restart(motor_core *c) {
  for (int i = 0; i < MOTOR_MAX; i++) c->axis[i].away = c->axis[i].off = -1;
}

uint32_t mc_jumped(motor_core *c) {
  uint32_t jumped = 0;
  for (int i = 0; i < c->config.motors; i++) {
    motor_axis *a = &c->axis[i];
    const double here = c->hw.encoder(c->hw.board, (uint8_t)i), most = JUMP * a->speed;
    if (fabs(here - a->encoder) > most) jumped |= (uint32_t)1 << i;
    a->encoder = here;
  }
  return jumped;
}

static bool lasts(int64_t *since, bool holds, int64_t now, int64_t time) {
  if (!holds) *since = -1;
  else if (*since < 0) *since = now;
  return holds && now - *since >= time;
}

/* The code of what is wrong with which motors, or 0. */
uint8_t mc_judge(motor_core *c, uint32_t *motors) {
  uint32_t away = 0, off = 0;
  for (int i = 0; i < c->config.motors; i++) {
    motor_axis *a = &c->axis[i];
    const double error = c->target[i] - c->hw.encoder(c->hw.board, (uint8_t)i);
    const double speed = c->hw.speed(c->hw.board, (uint8_t)i), size = fabs(error);
    const bool turns = size > REVERSE_BAND && (error < 0.0 ? -speed : speed) < -REVERSE_SPEED;
    if (lasts(&a->away, turns, c->tick, REVERSE_TIME)) away |= (uint32_t)1 << i;
    if (lasts(&a->off, size > a->error, c->tick, TRACKING_TIME)) off |= (uint32_t)1 << i;
  }
  *motors = away ? away : off;
  return away ? REVERSED : off ? TRACKING : 0;
}
