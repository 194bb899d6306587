# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""metadata.yaml of a bag, version 9, and the QoS of publishers, as rosbag2 writes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
import os
from pathlib import Path
from typing import Any

import yaml

METADATA = 'metadata.yaml'
PART = f'.{METADATA}.part'  # the next one while it is written
VERSION = 9
ROOT = 'rosbag2_bagfile_information'
FOREVER = {'sec': 9223372036, 'nsec': 854775807}  # how rmw writes "no deadline"
Qos = dict[str, Any]


@dataclass
class TopicEntry:
    """A topic of a bag."""

    name: str
    kind: str
    type_hash: str
    qos: list[Qos] = field(default_factory=list)
    count: int = 0


def qos_entry(profile: Any) -> Qos:
    """Return an rclpy QoSProfile as rosbag2 writes it."""
    return {
        'history': _policy(profile.history, 'unknown'),
        'depth': int(profile.depth),
        'reliability': _policy(profile.reliability, 'reliable'),
        'durability': _policy(profile.durability, 'volatile'),
        'deadline': _duration(profile.deadline),
        'lifespan': _duration(profile.lifespan),
        'liveliness': _policy(profile.liveliness, 'automatic'),
        'liveliness_lease_duration': _duration(profile.liveliness_lease_duration),
        'avoid_ros_namespace_conventions': bool(profile.avoid_ros_namespace_conventions),
    }


def qos_text(profiles: Sequence[Qos]) -> str:
    """Return offered QoS profiles as the text in a channel's metadata."""
    return yaml.safe_dump(list(profiles), sort_keys=False).rstrip() if profiles else ''


def write_metadata(
    folder: Path,
    file_name: str,
    topics: Sequence[TopicEntry],
    start: int | None,
    end: int | None,
    distribution: str,
) -> None:
    """Write metadata.yaml; a reader never finds half of it."""
    count = sum(topic.count for topic in topics)
    begin = {'nanoseconds_since_epoch': start or 0}
    duration = {'nanoseconds': (end or 0) - (start or 0)}
    extent = {'starting_time': begin, 'duration': duration, 'message_count': count}
    content = {
        ROOT: {
            'version': VERSION,
            'storage_identifier': 'mcap',
            **extent,
            'topics_with_message_count': [_topic(topic) for topic in topics],
            'compression_format': '',
            'compression_mode': '',
            'relative_file_paths': [file_name],
            'files': [{'path': file_name, **extent}],
            'custom_data': None,
            'ros_distro': distribution,
        }
    }
    part = folder / PART
    try:
        with part.open('w', encoding='utf-8') as file:
            yaml.dump(content, file, Dumper=_Dumper, sort_keys=False)
            file.flush()
            # Else a power cut may keep the new name and lose what was written.
            os.fsync(file.fileno())
        os.replace(part, folder / METADATA)
    except OSError:
        part.unlink(missing_ok=True)
        raise


def read_metadata(folder: Path) -> dict[str, Any]:
    """Return what metadata.yaml says; nothing where it is missing.

    ValueError: it is there and is not that of a bag.
    """
    path = folder / METADATA
    if not path.is_file():
        return {}
    try:
        content = dict(yaml.safe_load(path.read_text(encoding='utf-8'))[ROOT])
        content['relative_file_paths'] = [str(name) for name in content['relative_file_paths']]
        return content
    except (yaml.YAMLError, RecursionError, TypeError, KeyError, ValueError) as error:
        why = ' '.join(str(error).split())
        raise ValueError(f'{path} is not the metadata of a bag: {why}') from None


def _topic(topic: TopicEntry) -> dict[str, Any]:
    return {
        'topic_metadata': {
            'name': topic.name,
            'type': topic.kind,
            'serialization_format': 'cdr',
            'offered_qos_profiles': topic.qos,
            'type_description_hash': topic.type_hash,
        },
        'message_count': topic.count,
    }


def _policy(value: Any, unknown: str) -> str:
    # What the middleware cannot tell: history stays unknown, as rosbag2 writes it; others default.
    name = value.name.lower()
    return unknown if name in ('unknown', 'system_default', 'best_available') else name


def _duration(value: Any) -> dict[str, int]:
    nanoseconds = int(value.nanoseconds)
    if nanoseconds <= 0 or nanoseconds >= 2**63 - 1:
        return dict(FOREVER)
    return {'sec': nanoseconds // 10**9, 'nsec': nanoseconds % 10**9}


class _Dumper(yaml.SafeDumper):
    """Writes equal objects out every time: rosbag2's reader knows no YAML anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        return True
