/* Copyright 2026 soro contributors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Frames: COBS, checksum, answers of a session.
 */
#include "serial_frame.h"

#include <string.h>

void serial_put(serial_buffer *b, uint64_t value, int size) {
  for (int i = 0; i < size; i++) b->bytes[b->size++] = (uint8_t)(value >> 8 * i);
}

uint64_t serial_get(const uint8_t *at, int size) {
  uint64_t value = 0;
  for (int i = size; i-- > 0;) value = value << 8 | at[i];
  return value;
}

static uint16_t crc16(const uint8_t *data, size_t size) {
  uint32_t crc = 0xFFFF;
  while (size--) {
    crc ^= (uint32_t)*data++ << 8;
    for (int i = 0; i < 8; i++) crc = (crc & 0x8000 ? crc << 1 ^ 0x1021 : crc << 1) & 0xFFFF;
  }
  return (uint16_t)crc;
}

void serial_begin(serial_buffer *b, serial_link *link, uint8_t type) {
  b->size = 0;
  link->seq++;
  serial_put(b, (uint64_t)(MAJOR << 4 | link->minor), 1);
  serial_put(b, type, 1);
  serial_put(b, link->seq, 2);
}

void serial_finish(serial_buffer *b, serial_link *link) {
  uint8_t out[SERIAL_MAX_FRAME + 2];
  size_t code = 0, size = 1;
  serial_put(b, crc16(b->bytes, b->size), 2);
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
  link->send(link->board, out, size);
}

void serial_identify(serial_link *link, const serial_identity *me) {
  serial_buffer b;
  serial_begin(&b, link, HELLO_ACK);
  serial_put(&b, me->session, 4);
  serial_put(&b, MAJOR, 1);
  serial_put(&b, link->minor, 1);
  serial_put(&b, me->kind, 1);
  serial_put(&b, me->state, 1);
  serial_put(&b, me->serial, 4);
  serial_put(&b, me->boot_id, 4);
  serial_put(&b, 1, 2); /* firmware 1.0 */
  serial_put(&b, me->channels, 1);
  serial_put(&b, me->shortest, 2);
  serial_put(&b, me->longest, 2);
  serial_put(&b, (uint64_t)me->minimum, 4);
  serial_put(&b, (uint64_t)me->maximum, 4);
  serial_finish(&b, link);
}

void serial_ack(serial_link *link, uint16_t seq, uint8_t type, uint32_t detail) {
  serial_buffer b;
  serial_begin(&b, link, ACK);
  serial_put(&b, seq, 2);
  serial_put(&b, type, 1);
  serial_put(&b, detail, 4);
  serial_finish(&b, link);
}

void serial_nack(serial_link *link, uint16_t seq, uint8_t type, uint8_t reason, uint32_t detail) {
  serial_buffer b;
  serial_begin(&b, link, NACK);
  serial_put(&b, seq, 2);
  serial_put(&b, type, 1);
  serial_put(&b, reason, 1);
  serial_put(&b, detail, 4);
  serial_finish(&b, link);
}

int serial_body(uint8_t type) {
  static const int8_t sizes[] = {-1, 6, 4, 31, 4, 0, 4, 7, 8}; /* by type, from HELLO on */
  return type <= NACK ? sizes[type] : -1;
}

size_t serial_take(serial_link *link, uint8_t byte, uint8_t *data) {
  size_t size = 0, at = 0;
  const size_t filled = link->filled;
  if (byte) {
    if (link->oversize || filled + 1 >= SERIAL_MAX_FRAME) link->oversize = true;
    else link->block[link->filled++] = byte;
    return 0;
  }
  const bool oversize = link->oversize;
  link->filled = 0;
  link->oversize = false;
  if (!oversize && !filled) return 0;
  while (!oversize && at < filled) {
    const size_t code = link->block[at];
    if (at + code > filled) break; /* not COBS */
    if (at) data[size++] = 0;
    memcpy(data + size, link->block + at + 1, code - 1);
    size += code - 1;
    at += code;
  }
  if (oversize || at != filled || size < SERIAL_HEAD + 2) {
    link->malformed++;
    return 0;
  }
  if (crc16(data, size - 2) != serial_get(data + size - 2, 2)) {
    link->crc_errors++;
    return 0;
  }
  link->frames++;
  return size - 2;
}
