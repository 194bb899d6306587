/* Copyright 2026 soro contributors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The core on a computer, driven over pipes, with motors of first order behind it.
 *
 * Arguments: serial boot_id motors inputs, a tick [s], and the part of an error that is left after it.
 * A line in: `c ID HEX` a frame arrives, `t N` so many ticks pass, `f COUNTS..` what the flex inputs
 * read, `x CODE MASK` the board finds a fault, `m MOTOR STALLED REVERSED SLIP` one is broken,
 * `r BOOT_ID` the board restarts. Lines out: `f ID HEX` a frame, and `. STATE ANGLES..` at the end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "motor_core.h"

static motor_core core;
static double angle[MOTOR_MAX], turning[MOTOR_MAX], slip[MOTOR_MAX], counts[MOTOR_MAX];
static bool stalled[MOTOR_MAX], backward[MOTOR_MAX];
static double period, left;

static void send(void *board, uint16_t id, const uint8_t *data, uint8_t size) {
  (void)board;
  printf("f %x ", (unsigned)id);
  while (size--) printf("%02x", *data++);
  putchar('\n');
}

static void drive(void *board, uint8_t i, bool on, double target) {
  const double error = on ? target - (angle[i] + slip[i]) : 0.0;
  const double most = core.axis[i].speed * 10.0 * period;
  double step = (1.0 - left) * error;
  (void)board;
  step = step < -most ? -most : step;
  step = step > most ? most : step;
  if (stalled[i]) step = 0.0;
  if (backward[i]) step = -step;
  turning[i] = 0.1 * step / period;
  angle[i] += step;
}

static double encoder(void *board, uint8_t i) {
  (void)board;
  return angle[i] + slip[i];
}

static double speed(void *board, uint8_t i) {
  (void)board;
  return turning[i];
}

static double flex(void *board, uint8_t i) {
  (void)board;
  return counts[i];
}

static int8_t temperature(void *board) {
  (void)board;
  return 25;
}

static uint32_t microseconds(void *board) {
  (void)board;
  return (uint32_t)(uint64_t)((double)core.tick * period * 1e6);
}

static void frame(char *at) {
  uint8_t data[MOTOR_MAX_FRAME], size = 0;
  char *hex = at;
  const unsigned long id = strtoul(at, &hex, 16);
  unsigned byte;
  while (*hex == ' ') hex++;
  for (; size < MOTOR_MAX_FRAME && sscanf(hex, "%2x", &byte) == 1; hex += 2) data[size++] = (uint8_t)byte;
  motor_core_receive(&core, (uint16_t)id, data, size);
}

int main(int count, char **words) {
  static char line[4096];
  const motor_hw hw = {NULL, send, drive, encoder, speed, flex, temperature, microseconds};
  motor_config config;
  if (count != 7) return 2;
  memset(&config, 0, sizeof config);
  config.serial = (int32_t)strtol(words[1], NULL, 10);
  config.boot_id = (int32_t)strtol(words[2], NULL, 10);
  config.motors = (uint8_t)strtoul(words[3], NULL, 10);
  config.inputs = (uint8_t)strtoul(words[4], NULL, 10);
  period = strtod(words[5], NULL);
  left = strtod(words[6], NULL);
  if (config.motors > MOTOR_MAX || config.inputs > MOTOR_MAX) return 2;
  motor_core_init(&core, &config, &hw);
  while (fgets(line, sizeof line, stdin)) {
    char *at = line + 1;
    if (line[0] == 'c') frame(at);
    else if (line[0] == 't')
      for (long ticks = strtol(at, NULL, 10); ticks > 0; ticks--) motor_core_tick(&core);
    else if (line[0] == 'f')
      for (int i = 0; i < config.inputs; i++) counts[i] = strtod(at, &at);
    else if (line[0] == 'x') {
      const unsigned long code = strtoul(at, &at, 10);
      motor_core_fail(&core, (uint8_t)code, (uint32_t)strtoul(at, &at, 10));
    } else if (line[0] == 'm') {
      const unsigned long i = strtoul(at, &at, 10) % MOTOR_MAX;
      stalled[i] = strtol(at, &at, 10) != 0;
      backward[i] = strtol(at, &at, 10) != 0;
      slip[i] = strtod(at, &at);
    } else if (line[0] == 'a') {
      const unsigned long i = strtoul(at, &at, 10) % MOTOR_MAX;
      angle[i] = strtod(at, &at);
    } else if (line[0] == 'r') {
      config.boot_id = (int32_t)strtol(at, NULL, 10);
      motor_core_init(&core, &config, &hw);
    }
    printf(". %d", core.state);
    for (int i = 0; i < config.motors; i++) printf(" %.17g", angle[i]);
    putchar('\n');
    fflush(stdout);
  }
  return 0;
}
