# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A bag being written: receiving threads hand messages over, one thread of its own writes them.

Handing over costs an append to a queue, so that a slow disk never holds up whoever receives.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
import os
from pathlib import Path
import shutil
import tempfile
import threading
import time

from soro_mechanics.core.errors import InvalidInput
from soro_recording.bag_metadata import Qos, qos_text, TopicEntry, write_metadata
from soro_recording.mcap_writer import McapWriter

FLUSH_PERIOD = 0.25  # s: what a killed recorder loses at most
CHUNK = 1 << 20  # bytes after which a chunk is written at once
METADATA_PERIOD = 10.0  # s
SYNC_PERIOD = 5.0  # s: what a power cut loses at most
QUEUE_LIMIT = 256 << 20  # bytes waiting for the disk; beyond that messages are dropped
LIBRARY = 'soro'


class BagWriter:
    """Writes ``<folder>/<name>_0.mcap`` and ``metadata.yaml``.

    - `folder`: made here; must not exist.
    - `reserve` [bytes]: stop before less than this is free on the disk.
    - `distribution`: of ROS, for metadata.yaml.

    Its attributes:
    - `failure`: why writing has stopped for good; empty while it goes on.
    """

    def __init__(self, folder: Path, *, reserve: int = 0, distribution: str = '') -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        self.path = folder / f'{folder.name}_0.mcap'
        self.failure = ''
        self._received = 0  # messages
        self._refused = 0  # of them, because too many waited
        self._reserve = reserve
        self._distribution = distribution
        self._topics: dict[int, TopicEntry] = {}
        self._schemas: dict[str, int] = {}
        self._queue: deque[tuple[int, int, bytes] | Callable[[], None]] = deque()
        self._handed_over = 0  # bytes, by the receiving thread
        self._taken = 0  # bytes, by the writing thread
        self._wake = threading.Event()
        self._closing = False
        try:
            self._file = self.path.open('xb', buffering=0)
            # Without a name: nothing of it stays, whatever ends the recorder.
            self._scratch = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115
            self._writer = McapWriter(self._file, 'ros2', LIBRARY, self._scratch)
            self._write_metadata()
        except OSError as error:
            shutil.rmtree(folder, ignore_errors=True)  # else it would stand in the way next time
            expected = f'a place that can be written ({error.strerror or error})'
            raise InvalidInput('output', str(folder), expected) from None
        self._last_sync = self._last_metadata = time.monotonic()
        self._thread = threading.Thread(target=self._run, name='bag writer', daemon=True)
        self._thread.start()

    @property
    def size(self) -> int:
        """Bytes in the file."""
        return self._writer.size

    @property
    def counts(self) -> dict[str, int]:
        """Messages taken over, by topic."""
        return {t.name: self._writer.counts.get(n, 0) for n, t in list(self._topics.items())}

    @property
    def dropped(self) -> int:
        """Messages that did not get into the file: the disk was too slow, full or broken."""
        # After a failure nothing that waits gets there: all but what is in the file is lost.
        return self._received - sum(self.counts.values()) if self.failure else self._refused

    @property
    def waiting(self) -> int:
        """Bytes of messages handed over and not yet taken."""
        return self._handed_over - self._taken

    def add_topic(
        self, name: str, kind: str, definition: str, qos: Sequence[Qos] = (), type_hash: str = ''
    ) -> int:
        """Declare a topic and return the number to hand its messages over with."""
        number = len(self._topics) + 1
        self._topics[number] = TopicEntry(name, kind, type_hash, list(qos))
        metadata = {'offered_qos_profiles': qos_text(qos), 'topic_type_hash': type_hash}

        def declare() -> None:
            if kind not in self._schemas:
                self._schemas[kind] = self._writer.add_schema(kind, 'ros2msg', definition.encode())
            self._writer.add_channel(number, self._schemas[kind], name, 'cdr', metadata)

        self._queue.append(declare)
        self._wake.set()
        return number

    def add_file(self, name: str, media_type: str, data: bytes) -> None:
        """Put a file into the bag."""
        now = time.time_ns()
        self._queue.append(lambda: self._writer.add_attachment(name, media_type, data, now))

    def add_note(self, name: str, values: dict[str, str]) -> None:
        """Put named texts into the bag."""
        self._queue.append(lambda: self._writer.add_metadata(name, values))

    def write(self, topic: int, received: int, data: bytes) -> None:
        """Hand over one serialized message; `received` in ns since 1970. Never blocks."""
        self._received += 1
        if self.failure:
            return
        if self.waiting > QUEUE_LIMIT:
            self._refused += 1
            return
        self._queue.append((topic, received, data))
        self._handed_over += len(data)
        if self.waiting > CHUNK:
            self._wake.set()

    def close(self) -> None:
        """Write everything, the summary and metadata.yaml; safe to call again."""
        self._closing = True
        self._wake.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._closing:
            self._wake.wait(FLUSH_PERIOD)
            self._wake.clear()
            self._guarded(self._write_out)
        self._guarded(self._write_out)
        for step in (
            self._writer.finish,
            self._write_metadata,
            lambda: os.fsync(self._file.fileno()),
            self._file.close,
            self._scratch.close,
        ):
            self._guarded(step, after_failure=True)

    def _guarded(self, step: Callable[[], None], after_failure: bool = False) -> None:
        if self.failure and not after_failure:
            return
        try:
            step()
        # Whatever it is (no memory, for one): nobody hears of what ends this thread.
        except Exception as error:
            path = getattr(error, 'filename', None) or self.path
            why = getattr(error, 'strerror', None) or str(error) or type(error).__name__
            self._fail(f'cannot write {path}: {why}')

    def _write_out(self) -> None:
        taken = 0
        while self._queue:
            item = self._queue.popleft()
            if callable(item):
                # A chunk never holds messages of a channel that is declared after it.
                item()
                continue
            taken += len(item[2])
            self._writer.add_message(*item)
            if self._writer.pending >= CHUNK:
                self._writer.flush()
        self._writer.flush()
        self._taken += taken
        now = time.monotonic()
        if now - self._last_metadata > METADATA_PERIOD:
            self._last_metadata = now
            self._write_metadata()
        if now - self._last_sync > SYNC_PERIOD:
            self._last_sync = now
            os.fdatasync(self._file.fileno())
        if self._reserve and (free := shutil.disk_usage(self.folder).free) < self._reserve:
            self._fail(
                f'only {free >> 20} MB are free on the disk of {self.folder}; recording stopped '
                f'to leave {self._reserve >> 20} MB'
            )

    def _fail(self, why: str) -> None:
        self.failure = self.failure or why
        self._queue.clear()

    def _write_metadata(self) -> None:
        topics = list(self._topics.items())
        for number, topic in topics:
            topic.count = self._writer.counts.get(number, 0)
        write_metadata(
            self.folder,
            self.path.name,
            [t for _, t in topics],
            self._writer.start_time,
            self._writer.end_time,
            self._distribution,
        )
