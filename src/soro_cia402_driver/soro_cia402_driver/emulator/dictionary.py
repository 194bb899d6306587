# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The object dictionary of an emulated node: SDO server, and one PDO each way (CiA 301)."""

from __future__ import annotations

from collections.abc import Mapping

from soro_cia402_driver import protocol as co
from soro_cia402_driver.protocol import Entry

NO_OBJECT, NO_SUB, READ_ONLY = 0x06020000, 0x06090011, 0x06010002  # abort codes
WRONG_LENGTH, WRONG_COMMAND, NOT_NOW, TOO_LONG = 0x06070010, 0x05040001, 0x08000022, 0x06040042
MAPPED = 4  # entries in a PDO
UPLOAD = 2  # the first three bits of a request; 1: download


class Dictionary(dict[Entry, int]):
    """Values by entry; those of `constant` the node alone writes."""

    def __init__(
        self, constant: Mapping[Entry, int], settings: Mapping[Entry, int], node: int
    ) -> None:
        super().__init__({**constant, **settings})
        self._node, self._constant, self._pending = node, set(constant), dict[Entry, int]()
        for base, number in ((0x1400, co.RPDO), (0x1800, co.NO_REMOTE | co.TPDO)):
            self[Entry(base, 1, 'I')] = co.DISABLED | number + node
            self[Entry(base, 2, 'B')] = 255
            self[Entry(base + 0x200, 0, 'B')] = 0
            self.update({Entry(base + 0x200, k, 'I'): 0 for k in range(1, 1 + MAPPED)})
        self._at = {(e.index, e.sub): e for e in self}

    def take(self, identifier: int, data: bytes) -> bool:
        """Keep what a PDO says until `apply`; whether it is one that acts at once."""
        entries = self._mapped(0x1600)
        if identifier != self[Entry(0x1400, 1, 'I')] or len(data) != sum(e.size for e in entries):
            return False
        for entry in entries:
            self._pending[entry] = entry.unpack(data)
            data = data[entry.size :]
        return self[Entry(0x1400, 2, 'B')] > 240

    def apply(self) -> None:
        """Take over what the last PDO said."""
        self.update(self._pending)
        self._pending.clear()

    def feedback(self) -> list[tuple[int, bytes]]:
        """Return the PDO that answers a SYNC."""
        number = self[Entry(0x1800, 1, 'I')] & ~co.NO_REMOTE
        if number & co.DISABLED or not 0 < self[Entry(0x1800, 2, 'B')] <= 240:
            return []
        return [(number, b''.join(entry.pack(self[entry]) for entry in self._mapped(0x1A00)))]

    def answer(self, request: bytes) -> list[tuple[int, bytes]]:
        """Serve an SDO."""
        kind, index, sub, data = co.read_sdo(request)
        entry = self._at.get((index, sub))
        if kind == co.ABORT:
            return []
        if entry is None:
            code = NO_SUB if any(index == known for known, _ in self._at) else NO_OBJECT
            entry = Entry(index, sub, 'I')
        elif kind >> 5 == UPLOAD:
            return [(co.SDO_ANSWER + self._node, co.whole(co.VALUE, entry, self[entry]))]
        else:
            code = self._write(kind, entry, data)
        first = co.ABORT if code else co.DONE
        return [(co.SDO_ANSWER + self._node, co.sdo(first, entry, code.to_bytes(4, 'little')))]

    def _write(self, kind: int, entry: Entry, data: bytes) -> int:
        """Write a value; return an abort code, or 0."""
        value, base = entry.unpack(data), entry.index & ~0x200
        if not kind & co.EXPEDITED:
            return WRONG_COMMAND
        if entry in self._constant:
            return READ_ONLY
        if kind & co.SIZED and 4 - (kind >> 2 & 3) != entry.size:
            return WRONG_LENGTH
        if base in (0x1400, 0x1800):
            number = Entry(base, 1, 'I')
            if entry != number and not self[number] & co.DISABLED:
                return NOT_NOW  # a PDO is changed while it is off
            if entry.index != base and entry.sub and self._entry(value) is None:
                return NO_OBJECT
            if entry.index != base and entry.sub == 0 and value > MAPPED:
                return TOO_LONG
        self[entry] = value
        return 0

    def _entry(self, mapping: int) -> Entry | None:
        return self._at.get((mapping >> 16, mapping >> 8 & 0xFF))

    def _mapped(self, base: int) -> list[Entry]:
        count = self[Entry(base, 0, 'B')]
        found = [self._entry(self[Entry(base, k, 'I')]) for k in range(1, 1 + count)]
        return [entry for entry in found if entry is not None]
