/* Copyright 2026 soro contributors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Frames and session answers of the serial protocols F1 and F3 (docs/hardware/serial.md), for the
 * firmware of the device packages. C99, no heap, no vendor code.
 */
#ifndef SERIAL_FRAME_H
#define SERIAL_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SERIAL_MAX_FRAME = 255, SERIAL_HEAD = 4 }; /* bytes on the wire, with the closing zero */
enum { MAJOR = 1, NEWEST_MINOR = 1 };
enum { HELLO = 0x01, HEARTBEAT, HELLO_ACK, ARM, DISARM, RESET, ACK, NACK };
enum { UNKNOWN_TYPE = 1, BAD_LENGTH, VERSION, SESSION, STATE, OUT_OF_RANGE, BUSY };

typedef struct { uint8_t bytes[SERIAL_MAX_FRAME]; size_t size; } serial_buffer;

typedef struct {
  void *board;                                                   /* handed to `send` */
  void (*send)(void *board, const uint8_t *bytes, size_t count); /* one whole frame */
  uint8_t minor;                                                 /* agreed on */
  uint16_t seq;                                                  /* of the last frame sent */
  uint32_t frames, crc_errors, malformed;
  uint8_t block[SERIAL_MAX_FRAME];
  uint16_t filled;
  bool oversize;
} serial_link;

typedef struct { /* what HELLO_ACK says */
  uint32_t session, serial, boot_id;
  uint8_t kind, state, channels;
  uint16_t shortest, longest;
  int32_t minimum, maximum;
} serial_identity;

void serial_put(serial_buffer *b, uint64_t value, int size);
uint64_t serial_get(const uint8_t *at, int size);
void serial_begin(serial_buffer *b, serial_link *link, uint8_t type);
void serial_finish(serial_buffer *b, serial_link *link);
void serial_identify(serial_link *link, const serial_identity *me);
void serial_ack(serial_link *link, uint16_t seq, uint8_t type, uint32_t detail);
void serial_nack(serial_link *link, uint16_t seq, uint8_t type, uint8_t reason, uint32_t detail);

/* The size of the body of a session's frame, or -1: another type. */
int serial_body(uint8_t type);

/* Take a byte in; returns the size of the frame that it completes, without its checksum, or 0. */
size_t serial_take(serial_link *link, uint8_t byte, uint8_t *data);

#endif
