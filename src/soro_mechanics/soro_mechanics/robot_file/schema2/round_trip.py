# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Edit a robot file by program: comments, origins, order and quotes stay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from io import StringIO
import os
from pathlib import Path
import re
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq

from soro_mechanics.core.errors import RobotFileError
from soro_mechanics.robot_file.atomic_write import write_whole
from soro_mechanics.robot_file.dotted_path import key_in, path_keys
from soro_mechanics.robot_file.reader import describe_robot, read_yaml, RobotDescription

COMMENT = re.compile(r'(?:^|\s)#\s?(.*)$')
WIDTH = 10**6  # no line is broken anew


def _yaml() -> YAML:
    yaml = YAML(typ='rt')
    yaml.preserve_quotes = True
    yaml.width = WIDTH
    yaml.indent(mapping=2, sequence=4, offset=2)
    return yaml


class RoundTrip:
    """A robot file whose values may be replaced. Raises RobotFileError: it is no valid YAML."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        read_yaml(self.path)  # the same bounds and errors as every reader
        self.text = self.path.read_text(encoding='utf-8')
        self.tree: Any = _yaml().load(self.text)

    def put(self, path: str, value: Any) -> None:
        """Replace one value; no comment is lost, and a plain value keeps its origin.

        Raises RobotFileError: the path leads nowhere, or through what an alias has elsewhere too.
        """
        keys = path_keys(path)
        node, last, used = self.tree, '', Counter(_branches(self.tree))
        for key in keys:
            try:
                last, parent = key_in(node, key), node
            except LookupError:
                raise RobotFileError(
                    path, '', f'there is no {key!r} in this robot file', str(self.path)
                ) from None
            node = node[last]
            if used[id(node)] > 1:
                remedy = 'an alias (&, *) has it elsewhere too; write it out'
                raise RobotFileError(path, '', remedy, str(self.path))
        if isinstance(node, CommentedMap) and 'value' in node and not isinstance(value, dict):
            parent, last = node, 'value'  # its origin stays
        before = comments(self.written())
        parent[last] = styled(value)
        self._keep(before, keys[0])

    def _keep(self, before: list[str], first: Any) -> None:
        """Put comments that a replaced value took along in front of what follows."""
        lost = Counter(before) - Counter(comments(self.written()))
        keys = list(self.tree)
        place = keys.index(first) + 1
        if lost:
            text = '\n'.join(line for line in dict.fromkeys(before) if line in lost)
            key = keys[place] if place < len(keys) else first
            self.tree.yaml_set_comment_before_after_key(key, before=text)

    def written(self) -> str:
        """Return the text of the file."""
        out = StringIO()
        _yaml().dump(self.tree, out)
        return out.getvalue()

    def save(self, target: str | os.PathLike[str]) -> RobotDescription:
        """Write the file whole or not at all, after it has been read back.

        Raises RobotFileError: the changed robot is impossible; nothing is written then.
        """
        return write_robot_file(self.written(), target)


def write_robot_file(text: str, target: str | os.PathLike[str]) -> RobotDescription:
    """Write a robot file whole or not at all, after it has been read back.

    Raises RobotFileError: it describes no possible robot; nothing is written then.
    """
    path = Path(target).resolve()  # what a link leads to is replaced, not the link
    fresh = path.with_name(f'.{path.stem}.new.yaml')
    try:
        fresh.write_text(text, encoding='utf-8')
        description = describe_robot(read_yaml(fresh), str(target))
    finally:
        fresh.unlink(missing_ok=True)
    write_whole(path, lambda file: file.write(text.encode()))
    return description


def styled(value: Any) -> Any:
    """Return plain data as nodes in flow style, as the robot files write them."""
    if isinstance(value, CommentedMap | CommentedSeq):
        return value
    made: Any
    if isinstance(value, dict):
        made = CommentedMap({key: styled(child) for key, child in value.items()})
    elif isinstance(value, list | tuple):
        made = CommentedSeq([styled(child) for child in value])
    else:
        return value
    made.fa.set_flow_style()
    return made


def comments(text: str) -> list[str]:
    """Return the comment of every line that has one."""
    found = []
    for line in text.splitlines():
        bare = re.sub(r"'(?:[^']|'')*'|\"(?:[^\"\\]|\\.)*\"", '', line)
        match = COMMENT.search(bare)
        if match and match.group(1).strip():
            found.append(match.group(1).strip())
    return found


def _branches(node: Any) -> Iterator[int]:
    """Return who every mapping and list of a tree is, as often as it stands there."""
    if isinstance(node, dict | list):
        yield id(node)
        for child in node.values() if isinstance(node, dict) else node:
            yield from _branches(child)
