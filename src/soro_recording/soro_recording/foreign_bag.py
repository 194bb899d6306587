# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Bags that rosbag2 compressed or stored in sqlite3, made into one of plain MCAP beside them.

Compressed files are unpacked into a temporary folder. What is stored in sqlite3, or compressed
message by message, is then read by `rosbags` and written as MCAP there, so that one reader does
the rest. The folder goes when the bag is closed.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
import tempfile
from typing import Any

import yaml

from soro_mechanics.core.missing_package import import_package
from soro_node.user_errors import UserError
from soro_recording.bag_metadata import METADATA, read_metadata, ROOT
from soro_recording.mcap_scan import MAX_TIMES, MAX_UNPACKED, NotABag
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
    if path.is_file() and DATABASE not in path.suffixes and path.suffix != PACKED:
        return PlainBag(path)
    if path.is_file() and path.name not in information.get('relative_file_paths', ()):
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
        names = information['relative_file_paths']
        for name in names:
            (made / Path(name).name).symlink_to((folder / name).absolute())
        _describe(made, information, [Path(name).name for name in names])
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
        for number, connection in enumerate(reader.connections, 1):
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
    if lost:
        notes.append(f'damaged: {lost} messages cannot be unpacked and are left out')
    return notes


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
