# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Rules for launch files: well-formed, in the subset of both runners, described, typed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
import xml.etree.ElementTree as ElementTree

import launch_files

ROOT = Path(__file__).resolve().parent.parent
TAGS = {
    'launch',
    'arg',
    'choice',
    'let',
    'group',
    'keep',
    'push-ros-namespace',
    'set_parameter',
    'set_remap',
    'set_env',
    'include',
    'log',
    'node',
    'param',
    'remap',
    'env',
}


def check(files: list[Path]) -> Iterator[str]:
    """Yield what is wrong with the launch files and other XML."""
    if launch_files.SOURCE in files:
        yield from launch_files.stale()
    for file in files:
        where = file.relative_to(ROOT)
        if file.suffix in ('.xml', '.xacro', '.urdf'):
            try:
                root = ElementTree.parse(file).getroot()
            except ElementTree.ParseError as error:
                yield f'{where}: {error}'
                continue
            if file.name.endswith('.launch.xml'):
                yield from (f'{where}: {text}' for text in check_launch(root))


def check_launch(root: ElementTree.Element) -> Iterator[str]:
    """Yield what is wrong with one launch file."""
    if root.tag != 'launch':
        yield f'the root is <{root.tag}>, not <launch>'
    for element in root.iter():
        attributes = element.attrib
        name = attributes.get('name', '')
        if element.tag not in TAGS:
            yield f'<{element.tag}> is not in the subset that `soro launch` runs'
        elif element.tag == 'arg' and element in root and not attributes.get('description'):
            yield f'argument {name} has no description'
        elif element.tag == 'param' and 'value' in attributes and 'type' not in attributes:
            if attributes['value'] not in ('true', 'false'):
                yield f'parameter {name} has no type: the runners would read its value differently'
        elif element.tag == 'node' and '--log-level' in attributes.get('args', ''):
            yield f'node {name}: --log-level has no effect in args, use ros_args'
        elif element.tag == 'node' and 'driver' in name and 'respawn' in attributes:
            yield f'node {name}: a driver must never resume by itself'
