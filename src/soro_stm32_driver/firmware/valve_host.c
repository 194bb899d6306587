/* Copyright 2026 soro contributors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The core on a computer, driven over pipes: what a board's timer and serial port would do.
 *
 * Arguments: serial boot_id first_tick vent_time budget watchdog supply simultaneous in_order.
 * A line in: `b HEX` bytes arrive, `t N` so many milliseconds pass, `s PA` the supply is that,
 * `r BOOT_ID` the board restarts.
 * Lines out: `f HEX` a frame, `v TICK VALVE ON` a coil, and `.` when the line is done.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "valve_core.h"

static valve_core core;
static uint32_t pressure;

static void send(void *board, const uint8_t *bytes, size_t count) {
  (void)board;
  fputs("f ", stdout);
  while (count--) printf("%02x", *bytes++);
  putchar('\n');
}

static void valve(void *board, uint8_t number, bool on) {
  (void)board;
  printf("v %lld %d %d\n", (long long)core.tick, number, on);
}

static uint32_t supply(void *board) {
  (void)board;
  return pressure;
}

static uint16_t battery(void *board) {
  (void)board;
  return 12000;
}

static uint16_t length(void *board, uint8_t muscle) {
  (void)board;
  (void)muscle;
  return 0xFFFF;
}

int main(int count, char **words) {
  static char line[4096];
  const valve_hw hw = {NULL, send, valve, supply, battery, length};
  unsigned long n[9];
  valve_config config;
  if (count != 10) return 2;
  for (int i = 0; i < 9; i++) n[i] = strtoul(words[i + 1], NULL, 10);
  memset(&config, 0, sizeof config);
  config.serial = (uint32_t)n[0];
  config.boot_id = (uint32_t)n[1];
  config.first_tick = (uint32_t)n[2];
  config.vent_time = (int32_t)n[3];
  config.budget = (int32_t)n[4];
  config.watchdog = (int32_t)n[5];
  config.nominal_supply = pressure = (uint32_t)n[6];
  config.simultaneous = (uint8_t)n[7];
  config.in_order = n[8] != 0;
  valve_core_init(&core, &config, &hw);
  while (fgets(line, sizeof line, stdin)) {
    const char *at = line + 2;
    unsigned byte;
    if (line[0] == 't')
      for (long ticks = strtol(at, NULL, 10); ticks > 0; ticks--) valve_core_tick(&core);
    else if (line[0] == 's')
      pressure = (uint32_t)strtoul(at, NULL, 10);
    else if (line[0] == 'b')
      for (; sscanf(at, "%2x", &byte) == 1; at += 2) valve_core_byte(&core, (uint8_t)byte);
    else if (line[0] == 'r') {
      config.boot_id = (uint32_t)strtoul(at, NULL, 10);
      pressure = config.nominal_supply;
      valve_core_init(&core, &config, &hw);
    }
    puts(".");
    fflush(stdout);
  }
  return 0;
}
