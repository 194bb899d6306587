/* Copyright 2026 soro contributors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Frames: COBS, checksum, answers.
 */
#include "valve_parts.h"

void vc_put(buffer *b, uint64_t value, int size) {
  for (int i = 0; i < size; i++) b->bytes[b->size++] = (uint8_t)(value >> 8 * i);
}

uint64_t vc_get(const uint8_t *at, int size) {
  uint64_t value = 0;
  for (int i = size; i-- > 0;) value = value << 8 | at[i];
  return value;
}

uint16_t vc_crc16(const uint8_t *data, size_t size) {
  uint32_t crc = 0xFFFF;
  while (size--) {
    crc ^= (uint32_t)*data++ << 8;
    for (int i = 0; i < 8; i++) crc = (crc & 0x8000 ? crc << 1 ^ 0x1021 : crc << 1) & 0xFFFF;
  }
  return (uint16_t)crc;
}

void vc_begin(buffer *b, valve_core *c, uint8_t type) {
  b->size = 0;
  c->seq++;
  vc_put(b, (uint64_t)(MAJOR << 4 | c->minor), 1);
  vc_put(b, type, 1);
  vc_put(b, c->seq, 2);
}

void vc_finish(buffer *b, valve_core *c) {
  uint8_t out[VALVE_MAX_FRAME + 2];
  size_t code = 0, size = 1;
  vc_put(b, vc_crc16(b->bytes, b->size), 2);
  for (size_t i = 0; i < b->size; i++) { /* COBS; no run is long enough for its code 255 */
    if (b->bytes[i]) {
      out[size++] = b->bytes[i];
    } else {
      out[code] = (uint8_t)(size - code);
      code = size++;
    }
  }
  out[code] = (uint8_t)(size - code);
  out[size++] = 0;
  c->hw.send(c->hw.board, out, size);
}

void vc_ack(valve_core *c, uint16_t seq, uint8_t type, uint32_t detail) {
  buffer b;
  vc_begin(&b, c, ACK);
  vc_put(&b, seq, 2);
  vc_put(&b, type, 1);
  vc_put(&b, detail, 4);
  vc_finish(&b, c);
}

void vc_nack(valve_core *c, uint16_t seq, uint8_t type, uint8_t reason, uint32_t detail) {
  buffer b;
  vc_begin(&b, c, NACK);
  vc_put(&b, seq, 2);
  vc_put(&b, type, 1);
  vc_put(&b, reason, 1);
  vc_put(&b, detail, 4);
  vc_finish(&b, c);
}

