# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Bags that rosbag2 compressed or stored in sqlite3, made into one of plain MCAP beside them.

Compressed files and messages are unpacked into a temporary folder. What is stored in sqlite3 is
then read by `rosbags` and written as MCAP there, so that one reader does the rest. The folder goes
when the bag is closed.
"""

from __future__ import annotations

from collections import Counter
import contextlib
from dataclasses import dataclass
from pathlib import Path
import tempfile
from typing import Any

import yaml

from soro_mechanics.core.missing_package import import_package
from soro_node.user_errors import UserError
from soro_recording.bag_metadata import METADATA, read_metadata, ROOT
from soro_recording.mcap_scan import MAX_TIMES, MAX_UNPACKED, messages, NotABag, scan
from soro_recording.mcap_writer import McapWriter
from soro_recording.message_definitions import full_definition

BLOCK = 1 << 20  # bytes unpacked at once
FLUSH = 1 << 22  # bytes of messages in a chunk
PACKED = '.zstd'
DATABASE = '.db3'


@dataclass(frozen=True)
class PlainBag:
    """Where the plain files are, and what a person should know of how they came about."""

    path: Path
    notes: tuple[str, ...] = ()


def plain_bag(path: Path, stack: contextlib.ExitStack) -> PlainBag:
    """Return a bag as one of plain MCAP files: itself, or a copy that goes with the stack.

    NotABag: it is compressed in a way that is not known, damaged, or unpacks to far more than a
    recording of its size would; or a file of sqlite3 stands alone.
    """
    folder = path.parent if path.is_file() else path
    information: dict[str, Any] = {}  # of a bag without metadata, or with none that can be read
    with contextlib.suppress(OSError, ValueError):
        information = read_metadata(folder)
    packed = str(information.get('compression_mode') or '').lower()
    stored = str(information.get('storage_identifier') or '')
    listed = path.name in information.get('relative_file_paths', ())
    plain = DATABASE not in path.suffixes and path.suffix != PACKED
    if path.is_file() and plain and not (listed and packed == 'message'):
        return PlainBag(path)
    if path.is_file() and not listed:
        raise NotABag(f'{path} needs the {METADATA} of its bag: give the folder that holds both')
    if not packed and stored != 'sqlite3':
        return PlainBag(path)
    made = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix='soro-bag-')))
    limit = max(MAX_UNPACKED, MAX_TIMES * sum(f.stat().st_size for f in folder.iterdir()))
    if packed and information.get('compression_format') != 'zstd':
        kind = information.get('compression_format')
        raise NotABag(f'{path} is compressed by {kind!r}; known: zstd')
    if packed == 'file':
        _unpack_files(folder, information, made, limit)
        if stored != 'sqlite3':
            return PlainBag(made)
        folder = made
    elif packed == 'message':
        names = {Path(name).name: folder / name for name in information['relative_file_paths']}
        _describe(made, information, list(names))
        if stored != 'sqlite3':
            return PlainBag(made, tuple(_unpack_messages(names, made, limit)))
        for name, place in names.items():
            (made / name).symlink_to(place.absolute())
        folder = made
    target = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix='soro-bag-')))
    notes = _as_mcap(folder, target / 'bag.mcap', limit, packed == 'message')
    return PlainBag(target, tuple(note.replace(str(folder), str(path)) for note in notes))


def _unpack_files(folder: Path, information: dict[str, Any], made: Path, limit: int) -> None:
    zstandard = import_package('zstandard', 'zstandard')
    names, left = [], limit
    for name in information['relative_file_paths']:
        plain = Path(name).name.removesuffix(PACKED)
        names.append(plain)
        if not (folder / name).is_file():
            continue  # the reader says which is missing
        with (folder / name).open('rb') as source, (made / plain).open('wb') as target:
            try:
                with zstandard.ZstdDecompressor().stream_reader(source) as reader:
                    while block := reader.read(BLOCK):
                        left -= len(block)
                        if left < 0:
                            raise NotABag(
                                f'{folder} would unpack to more than {limit / 1e9:.3g} GB'
                            )
                        target.write(block)
            except zstandard.ZstdError:
                continue  # what was unpacked so far is a file that is cut off
    _describe(made, information, names)


def _unpack_messages(names: dict[str, Path], made: Path, limit: int) -> list[str]:
    """Copy MCAP files of messages that are each compressed; return what could not be read.

    Not by `rosbags`, which has one definition for all that is called by one type.
    """
    lost, left, notes = 0, limit, list[str]()
    for name, place in names.items():
        if not place.is_file():
            continue  # the reader says which is missing
        found = scan(place)
        notes += [f'damaged: {text}' for text in found.damage]
        with place.open('rb') as source, (made / name).open('wb+', buffering=0) as target:
            writer = McapWriter(target, 'ros2', 'soro')
            schemas = {
                number: writer.add_schema(s.name, s.encoding, s.data)
                for number, s in found.schemas.items()
            }
            for number, channel in found.channels.items():
                kind = schemas.get(channel.schema_id, 0)  # 0: none, and the reader says so
                writer.add_channel(number, kind, channel.topic, 'cdr', channel.metadata)
            for raw in (raw for chunk in found.chunks for raw in messages(source, chunk)):
                plain = _unpacked(raw.data, left)
                if plain is None or raw.channel not in writer.counts:
                    lost += 1
                    continue
                left -= len(plain)
                writer.add_message(raw.channel, raw.time, plain)
                if writer.pending > FLUSH:
                    writer.flush()
            writer.flush()
            if found.finished:  # else the reader says that it is cut off
                writer.finish()
    return [*notes, *_not_unpacked(lost)]


def _describe(made: Path, information: dict[str, Any], names: list[str]) -> None:
    """Write what metadata.yaml said, of files that are not compressed."""
    plain = {**information, 'relative_file_paths': names}
    plain |= {'compression_mode': '', 'compression_format': ''}
    for entry, name in zip(plain.get('files') or (), names, strict=False):
        entry['path'] = name
    (made / METADATA).write_text(yaml.safe_dump({ROOT: plain}), encoding='utf-8')


def _as_mcap(folder: Path, target: Path, limit: int, packed: bool) -> list[str]:
    """Copy every message of a bag into an MCAP file; return what could not be read.

    `packed`: each message is compressed; one that cannot be unpacked is left out.
    """
    import_package('rosbags', 'rosbags')
    from rosbags.rosbag2 import Reader, ReaderError

    notes: list[str] = []
    reader = Reader(folder)
    try:
        reader.open()
    except Exception as error:  # rosbags lets errors of its database and of YAML through
        raise NotABag(f'{folder} cannot be read: {_line(error)}') from None
    with target.open('wb+', buffering=0) as file:
        writer = McapWriter(file, 'ros2', 'soro')
        schemas: dict[str, int] = {}
        numbers = {}
        known = {(c.msgtype, c.digest) for c in reader.connections if c.digest}
        kinds = Counter(kind for kind, _ in known)
        for number, connection in enumerate(reader.connections, 1):
            if kinds[connection.msgtype] > 1:  # `rosbags` has one definition for all of them
                text = f'{connection.topic}: {connection.msgtype} is recorded by two definitions'
                notes.append(f'left out: {text}')
                continue
            if connection.msgtype not in schemas:
                encoding, text = _definition(connection)
                schemas[connection.msgtype] = writer.add_schema(
                    connection.msgtype, encoding, text.encode()
                )
            writer.add_channel(
                number, schemas[connection.msgtype], connection.topic, 'cdr',
                {'topic_type_hash': connection.digest or ''},
            )  # fmt: skip
            numbers[connection.id] = number
        total = lost = 0
        try:
            for connection, stamp, data in reader.messages():
                if connection.id not in numbers:
                    continue
                plain = _unpacked(data, limit - total) if packed else bytes(data)
                if plain is None:
                    lost += 1
                    continue
                total += len(plain)
                if total > limit:
                    raise NotABag(f'{folder} would unpack to more than {limit / 1e9:.3g} GB')
                writer.add_message(numbers[connection.id], stamp, plain)
                if writer.pending > FLUSH:
                    writer.flush()
        except (NotABag, OSError):
            raise
        except Exception as error:
            notes.append(f'damaged: {folder}: {_line(error)}; what follows is left out')
        writer.flush()
        writer.finish()
    with contextlib.suppress(ReaderError):
        reader.close()
    return [*notes, *_not_unpacked(lost)]


def _not_unpacked(lost: int) -> list[str]:
    return [f'damaged: {lost} messages cannot be unpacked and are left out'] if lost else []


def _unpacked(data: Any, most: int) -> bytes | None:
    """Return a message that was compressed, None where it is damaged or larger than allowed."""
    zstandard = import_package('zstandard', 'zstandard')
    try:
        told = zstandard.frame_content_size(data)
        if told > most:
            return None
        reader = zstandard.ZstdDecompressor().stream_reader(data)
        plain = bytes(reader.read(most if told < 0 else told))
        return plain if told < 0 or len(plain) == told else None
    except zstandard.ZstdError:
        return None


def _definition(connection: Any) -> tuple[str, str]:
    """Return how a type is described: in the bag, else as installed; nothing where neither is."""
    text = str(connection.msgdef.data or '')
    if text:
        return 'ros2idl' if connection.msgdef.format.name == 'IDL' else 'ros2msg', text
    try:
        return 'ros2msg', full_definition(connection.msgtype)
    except UserError:
        return 'ros2msg', ''


def _line(error: Exception) -> str:
    return ' '.join(str(error).split()) or type(error).__name__
