/* Copyright 2026 soro contributors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The core on a computer, driven over pipes: what a task's timer, serial port and converters do.
 *
 * Arguments: serial boot_id channels, the period of the task [s]. A line in: `b HEX` bytes arrive,
 * `t N` the task runs so often, `v VOLTS..` what the monitors read, `r BOOT_ID` the computer
 * restarts. Lines out: `f HEX` a frame, and `. STATE FAULTS STALE DUMP VOLTS..` at the end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pressure_core.h"

static pressure_core core;
static double monitors[PRESSURE_CHANNELS], commands[PRESSURE_CHANNELS];
static bool open_to_air;
static long long runs; /* of the task; a restart does not stop the clock */

static void send(void *board, const uint8_t *bytes, size_t count) {
  (void)board;
  fputs("f ", stdout);
  while (count--) printf("%02x", *bytes++);
  putchar('\n');
}

static double monitor(void *board, uint8_t channel) {
  (void)board;
  return monitors[channel];
}

static void command(void *board, uint8_t channel, double volts) {
  (void)board;
  commands[channel] = volts;
}

static void dump(void *board, bool opened) {
  (void)board;
  open_to_air = opened;
}

static uint32_t microseconds(void *board) {
  (void)board;
  return (uint32_t)(uint64_t)((double)runs * core.config.period * 1e6);
}

int main(int count, char **words) {
  static char line[4096];
  const pressure_hw hw = {NULL, send, monitor, command, dump, microseconds};
  pressure_config config;
  if (count != 5) return 2;
  memset(&config, 0, sizeof config);
  config.serial = (uint32_t)strtoul(words[1], NULL, 10);
  config.boot_id = (uint32_t)strtoul(words[2], NULL, 10);
  config.channels = (uint8_t)strtoul(words[3], NULL, 10);
  config.period = strtod(words[4], NULL);
  if (!config.channels || config.channels > PRESSURE_CHANNELS) return 2;
  pressure_core_init(&core, &config, &hw);
  while (fgets(line, sizeof line, stdin)) {
    char *at = line + 1;
    unsigned byte;
    if (line[0] == 't')
      for (long ticks = strtol(at, NULL, 10); ticks > 0; ticks--, pressure_core_tick(&core)) runs++;
    else if (line[0] == 'v')
      for (int i = 0; i < config.channels; i++) monitors[i] = strtod(at, &at);
    else if (line[0] == 'b')
      for (at++; sscanf(at, "%2x", &byte) == 1; at += 2) pressure_core_byte(&core, (uint8_t)byte);
    else if (line[0] == 'r') {
      config.boot_id = (uint32_t)strtoul(at, NULL, 10);
      pressure_core_init(&core, &config, &hw);
    }
    printf(". %d %u %u %d", core.state, core.faults, (unsigned)core.stale, open_to_air);
    for (int i = 0; i < config.channels; i++) printf(" %.17g", commands[i]);
    putchar('\n');
    fflush(stdout);
  }
  return 0;
}
