# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Reads a recording: topics, robots, decoded messages. Needs no ROS, running or installed.

    with BagReader('bags/stiff_flop_2026-11-20_15-50-01') as bag:
        for entry in bag.messages(['/stiff_flop/tip_pose']):
            print(entry.time, entry.message.pose.position.z)

Messages are decoded by the definitions inside the file, so that a bag stays readable when the
installed definitions have changed. Bags of rosbag2 are read too, compressed ones and sqlite3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from functools import cached_property, lru_cache
import heapq
from pathlib import Path
import struct
from typing import Any, BinaryIO

from mcap.records import Schema

from soro_mechanics.core.missing_package import import_package
from soro_recording.bag_metadata import read_metadata
from soro_recording.foreign_bag import plain_bag
from soro_recording.mcap_format import BadRecord
from soro_recording.mcap_scan import ChunkPlace, messages, NotABag, Scan, scan

ROBOT_FILE = 'robot.yaml'  # name of the attachment, behind the robot's namespace
MESSAGES = 'soro_msgs'  # name of the metadata that says which revision of them was recorded
NANOSECONDS = 1e-9
INSTEAD = 'instead every .mcap file of the folder is read'
DEEPEST = 50  # types within each other; those of ROS reach ten
__all__ = ['BagReader', 'NotABag', 'Recorded', 'RecordedRobot', 'Topic']


@dataclass(frozen=True)
class Topic:
    """A recorded topic; `kind` is ``package/msg/Type``."""

    name: str
    kind: str
    count: int
    qos: str
    type_hash: str


@dataclass(frozen=True)
class RecordedRobot:
    """A robot that was recorded: its namespace and the text of its file at that time."""

    namespace: str
    text: str


@dataclass(frozen=True)
class Recorded:
    """One recorded message."""

    topic: str
    stamp: int  #: [ns]; when it was received, since 1970
    data: bytes  #: as it was on the wire (CDR)
    _schema: Schema
    _types: _Types

    @property
    def time(self) -> float:
        """When it was received [s since 1970]."""
        return self.stamp * NANOSECONDS

    @property
    def message(self) -> Any:
        """The message: fields as in its definition, arrays of numbers as NumPy arrays."""
        return self._types.decode(self._schema, self.data)


class BagReader(AbstractContextManager['BagReader']):
    """A recording, read without ROS.

    - `path`: folder of a bag, or one of its ``.mcap`` files.

    Its attributes:
    - `finished`: False for a recording whose writer was killed, whose file was cut (everything up
      to there is read) or of which a file is missing.
    - `notes`: what a person should know about the state of the recording, one sentence each.

    NotABag: there is no recording at that path.
    OSError: it cannot be read.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._stack = ExitStack()
        plain = plain_bag(self.path, self._stack)
        self.files, missing, self.notes = _files(plain.path)
        self.notes += plain.notes
        self._scans: list[Scan] = [scan(file) for file in self.files]
        self._open: list[BinaryIO] = []
        whole = all(s.finished for s in self._scans)
        self.finished = whole and not missing and not plain.notes
        self.notes += [f'missing: {file}; what it held is not listed' for file in missing]
        if not whole:
            self.notes.append(
                'cut off: the recorder was killed, or records still; what is listed can be read'
            )
        self.notes += [f'damaged: {text}' for one in self._scans for text in one.damage]
        if self.undescribed:
            self.notes.append(
                f'{self.undescribed} messages cannot be read: the description of '
                'their topics or types is lost'
            )
        self._types = _Types()

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the files; safe to call again."""
        self._stack.close()
        self._open = []

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(s.size for s in self._scans)

    @cached_property
    def topics(self) -> dict[str, Topic]:
        """Every recorded topic by its name, with the number of its messages."""
        found: dict[str, Topic] = {}
        for one in self._scans:
            counts: Counter[int] = Counter()
            for chunk in one.chunks:
                counts.update(chunk.counts)
            for number, channel in sorted(one.channels.items()):
                old = found.get(channel.topic)
                schema = one.schemas.get(channel.schema_id)
                found[channel.topic] = Topic(
                    channel.topic,
                    schema.name if schema else '',
                    counts[number] + (old.count if old else 0),
                    channel.metadata.get('offered_qos_profiles', ''),
                    channel.metadata.get('topic_type_hash', ''),
                )
        return dict(sorted(found.items()))

    @property
    def count(self) -> int:
        """Number of messages."""
        return sum(topic.count for topic in self.topics.values())

    @property
    def undescribed(self) -> int:
        """Number of messages whose topic or type the file does not tell (any more)."""
        return sum(
            chunk.counts.get(channel, 0)
            for one in self._scans
            for channel in one.unknown()
            for chunk in one.chunks
        )

    @property
    def revision(self) -> int:
        """Revision of soro_msgs (`soro_msgs/Revision`); recordings before the second name none."""
        named = [s.metadata[MESSAGES] for s in self._scans if MESSAGES in s.metadata]
        text = named[0].get('revision', '') if named else '1'
        return int(text) if text.isdecimal() else 0

    def unreadable(self) -> list[str]:
        """Return why the messages of some types cannot be decoded, one sentence for each type."""
        found = set()
        for one in self._scans:
            for number in {n for chunk in one.chunks for n in chunk.counts} - one.unknown():
                schema = one.schemas[one.channels[number].schema_id]
                try:
                    self._types.learn(schema)
                except (BadRecord, NotABag) as error:
                    found.add(f'messages of type {schema.name} cannot be read: {error}')
        return sorted(found)

    @property
    def start(self) -> int:
        """When the first message was received [ns since 1970]; 0 in an empty recording."""
        return min((c.start_time for s in self._scans for c in s.chunks), default=0)

    @property
    def end(self) -> int:
        """When the last message was received [ns since 1970]; 0 in an empty recording."""
        return max((c.end_time for s in self._scans for c in s.chunks), default=0)

    @property
    def duration(self) -> float:
        """From the first to the last message [s]."""
        return (self.end - self.start) * NANOSECONDS

    @cached_property
    def robots(self) -> list[RecordedRobot]:
        """The robots whose files were recorded."""
        found = {}
        for one in self._scans:
            for name, data in one.attachments.items():
                namespace, _, file = name.rpartition('/')
                if file == ROBOT_FILE:
                    robot = RecordedRobot(namespace or '/', _text(data, name))
                    found[robot.namespace] = robot
        return [found[name] for name in sorted(found)]

    @cached_property
    def namespaces(self) -> list[str]:
        """Namespaces of robots: those recorded with a file, else those with an actuator_state."""
        with_file = [robot.namespace for robot in self.robots]
        end = '/actuator_state'
        return with_file or [t.removesuffix(end) or '/' for t in self.topics if t.endswith(end)]

    def messages(
        self,
        topics: Collection[str] | None = None,
        start: int | None = None,
        end: int | None = None,
    ) -> Iterator[Recorded]:
        """Return messages in the order in which they were received.

        - `topics`: full names; default: all. A name that was not recorded gives nothing.
        - `start`, `end`: the first time that counts and the first that does not.
        """
        low = -1 if start is None else start
        high = 1 << 63 if end is None else end
        if not self._open:
            self._open = [self._stack.enter_context(f.open('rb')) for f in self.files]
        streams = [
            self._of_file(one, file, topics, low, high)
            for one, file in zip(self._scans, self._open, strict=True)
        ]
        return heapq.merge(*streams, key=lambda entry: entry.stamp)

    def _of_file(
        self, one: Scan, file: BinaryIO, topics: Collection[str] | None, low: int, high: int
    ) -> Iterator[Recorded]:
        names = {
            number: (channel.topic, one.schemas[channel.schema_id])
            for number, channel in one.channels.items()
            if (topics is None or channel.topic in topics) and channel.schema_id in one.schemas
        }
        for chunk in sorted(one.chunks, key=lambda c: c.start_time):
            if chunk.end_time < low or chunk.start_time >= high or not names.keys() & chunk.counts:
                continue
            yield from self._of_chunk(file, chunk, names, low, high)

    def _of_chunk(
        self,
        file: BinaryIO,
        chunk: ChunkPlace,
        names: dict[int, tuple[str, Schema]],
        low: int,
        high: int,
    ) -> Iterator[Recorded]:
        # The whole chunk at once: another iteration over the same file may move its position.
        for raw in sorted(messages(file, chunk), key=lambda m: m.time):
            if raw.channel in names and low <= raw.time < high:
                topic, schema = names[raw.channel]
                yield Recorded(topic, raw.time, raw.data, schema, self._types)


class _Types:
    """Decodes messages by the definitions in the file; made when the first is needed.

    Each by its own: a type may have changed between what was recorded into one bag.
    """

    def decode(self, schema: Schema, data: bytes) -> Any:
        store, kind = self.learn(schema), schema.name
        from rosbags.serde import SerdeError

        try:
            if len(data) < 4 or data[:2] not in (b'\x00\x00', b'\x00\x01'):
                raise BadRecord(f'a message is no {kind}: it is not CDR')
            known = store.get_msgdef(kind)
            read = known.deserialize_cdr_le if data[1] else known.deserialize_cdr_be
            # What follows is none of it: the middleware's messages may be longer than what is in
            # them, where it has reserved room to align numbers that an empty array has not.
            return read(data[4:], 0, known.cls, store)[0]
        except (
            SerdeError,
            struct.error,
            ValueError,
            IndexError,
            AssertionError,
            RecursionError,
        ) as error:
            raise BadRecord(f'a message is no {kind}: {error}') from None

    def learn(self, schema: Schema) -> Any:
        """Return the types of a schema; BadRecord, NotABag: its definition is of no use."""
        return _learned(schema.name, schema.encoding, schema.data)


@lru_cache(maxsize=256)  # of every bag that is opened: most have the same
def _learned(kind: str, encoding: str, definition: bytes) -> Any:
    import_package('rosbags', 'rosbags')
    from rosbags.typesys import get_types_from_idl, get_types_from_msg, get_typestore, Stores
    from rosbags.typesys.base import TypesysError

    store = get_typestore(Stores.EMPTY)
    text = _text(definition, kind)
    readers = {
        'ros2msg': lambda: get_types_from_msg(text, kind),
        'ros2idl': lambda: get_types_from_idl(text),
    }
    if encoding not in readers:
        raise NotABag(f'{kind} is described as {encoding!r}; known: ros2msg, ros2idl')
    try:
        types = readers[encoding]()
        _refuse_circles(kind, types)
        store.register({k: v for k, v in types.items() if k not in store.types})
        store.get_msgdef(kind)  # finds types that are not described
    except (TypesysError, KeyError, ValueError, RecursionError) as error:
        raise BadRecord(f'the definition of {kind}: {error}') from None
    return store


def _refuse_circles(kind: str, types: Mapping[str, Any]) -> None:
    """Refuse types that contain themselves, or one within another without an end in sight."""
    from rosbags.interfaces import Nodetype

    depths: dict[str, int] = {}
    waiting: list[tuple[str, tuple[str, ...]]] = [(kind, ())]
    while waiting:
        name, outer = waiting.pop()
        if name in outer:
            raise BadRecord(f'{name} contains itself: {" > ".join((*outer, name))}')
        if len(outer) > DEEPEST:
            raise BadRecord(f'types within types, {DEEPEST} deep')
        if name not in types or depths.get(name, -1) >= len(outer):
            continue
        depths[name] = len(outer)
        for _, (node, inner) in types[name][1]:
            if node in (Nodetype.ARRAY, Nodetype.SEQUENCE):
                node, inner = inner[0]
            if node == Nodetype.NAME:
                waiting.append((inner, (*outer, name)))


def _text(data: bytes, of: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise BadRecord(f'{of}: {error}') from None


def _files(path: Path) -> tuple[list[Path], list[Path], list[str]]:
    """Return the files of a recording, those that are missing, and notes."""
    missing: list[Path] = []
    notes: list[str] = []
    if path.is_dir():
        names: list[str] = []
        try:
            names = read_metadata(path).get('relative_file_paths', [])
        except ValueError as error:
            # A crash of the computer may leave it empty; the files do not need it.
            notes.append(f'{error}; {INSTEAD}')
        missing = [path / name for name in names if not (path / name).is_file()]
        files = [path / name for name in names if (path / name).is_file()]
        if missing and not files:  # the bag's files have another name now
            notes.append(f'the files that {path}/metadata.yaml names are missing; {INSTEAD}')
        files = files or sorted(path.glob('*.mcap'))
        if not files:
            raise NotABag('; '.join([f'{path} holds no .mcap file', *notes[:1]]))
        missing = [] if notes else missing
    elif path.is_file():
        files = [path]
    else:
        raise NotABag(f'there is no recording at {path}')
    return files, missing, notes
