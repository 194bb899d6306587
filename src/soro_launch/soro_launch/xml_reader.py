# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Reads launch XML into elements that know their line, and refuses what the subset lacks."""

from __future__ import annotations

from dataclasses import dataclass, field
import difflib
from pathlib import Path
from xml.parsers import expat

from soro_launch.errors import LaunchError


@dataclass
class Element:
    """One XML element and where it stands."""

    tag: str
    attributes: dict[str, str]
    file: str
    line: int
    children: list[Element] = field(default_factory=list)

    def error(self, message: str) -> LaunchError:
        """Return an error that points at this element."""
        return LaunchError(f'<{self.tag}>: {message}', self.file, self.line)

    def of(self, tag: str) -> list[Element]:
        """Return the children with a tag."""
        return [child for child in self.children if child.tag == tag]


@dataclass(frozen=True)
class Rule:
    """What an element may have."""

    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    children: tuple[str, ...] = ()


LARGEST = 10**6  # bytes of a launch file
DEEPEST = 50  # elements inside elements
_CONDITION = ('if', 'unless')
ACTIONS = tuple(
    'arg let group push-ros-namespace set_parameter set_remap set_env include log node'.split()
)
_NODE_OPTIONS = tuple(
    'name namespace output args ros_args respawn respawn_delay respawn_max_retries on_exit '
    'sigterm_timeout sigkill_timeout launch-prefix'.split()
)
RULES = {
    'launch': Rule(children=ACTIONS),
    'arg': Rule(('name',), ('default', 'description', *_CONDITION), ('choice',)),
    'choice': Rule(('value',)),
    'let': Rule(('name', 'value'), _CONDITION),
    'group': Rule((), ('scoped', 'forwarding', *_CONDITION), ('keep', *ACTIONS)),
    'keep': Rule(('name', 'value')),
    'push-ros-namespace': Rule(('namespace',), _CONDITION),
    'set_parameter': Rule(('name', 'value'), _CONDITION),
    'set_remap': Rule(('from', 'to'), _CONDITION),
    'set_env': Rule(('name', 'value'), _CONDITION),
    'include': Rule(('file',), _CONDITION, ('arg',)),
    'log': Rule(('message',), _CONDITION),
    'node': Rule(('pkg', 'exec'), (*_NODE_OPTIONS, *_CONDITION), ('param', 'remap', 'env')),
    'param': Rule((), ('name', 'value', 'type', 'from', 'allow_substs')),
    'remap': Rule(('from', 'to')),
    'env': Rule(('name', 'value')),
}
_INCLUDE_ARGUMENT = Rule(('name', 'value'))
_HINTS = {
    'lifecycle_node': 'launch XML has no lifecycle_node before ROS 2 Lyrical; use <node> and the '
    'parameter autostart',
    'executable': 'start a <node>; the runner knows no other processes',
    'push_ros_namespace': 'write push-ros-namespace',
}


def read_launch_file(path: Path | str) -> Element:
    """Read a launch file and check it against the subset.

    LaunchError: the file cannot be read, is not XML, or uses something outside the subset.
    """
    file = str(path)
    try:
        with Path(path).open('rb') as opened:
            data = opened.read(LARGEST + 1)
    except OSError as error:
        raise LaunchError(f'cannot be read: {error.strerror}', file, 1) from None
    if len(data) > LARGEST:
        raise LaunchError(f'is longer than {LARGEST} bytes', file, 1)
    root = _parse(data, file)
    if root.tag != 'launch':
        raise root.error('the outermost element must be <launch>')
    _check(root, RULES['launch'])
    return root


def _parse(data: bytes, file: str) -> Element:
    parser = expat.ParserCreate()
    roots: list[Element] = []
    stack: list[Element] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag, attributes, file, parser.CurrentLineNumber)
        (stack[-1].children if stack else roots).append(element)
        stack.append(element)
        if len(stack) > DEEPEST:
            raise element.error(f'stands inside more than {DEEPEST} elements')

    def text(characters: str) -> None:
        if characters.strip():
            raise LaunchError(
                f'text {characters.strip()[:40]!r} outside of an attribute means nothing here',
                file,
                parser.CurrentLineNumber,
            )

    def doctype(*_: object) -> None:
        # What it could declare, entities, is how small files become large or read other files.
        raise LaunchError('has a DOCTYPE; remove it', file, parser.CurrentLineNumber)

    parser.StartDoctypeDeclHandler = doctype
    parser.StartElementHandler = start
    parser.EndElementHandler = lambda tag: stack.pop()
    parser.CharacterDataHandler = text
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        reason = expat.errors.messages[error.code]
        raise LaunchError(f'is not valid XML: {reason}', file, error.lineno) from None
    except (LookupError, ValueError) as error:  # an encoding that Python lacks
        raise LaunchError(f'is not valid XML: {error}', file, 1) from None
    return roots[0]


def _check(element: Element, rule: Rule) -> None:
    allowed = (*rule.required, *rule.optional)
    for name in element.attributes:
        if name not in allowed:
            raise element.error(f'attribute {name!r} is not known; {_listing(name, allowed)}')
    for name in rule.required:
        if name not in element.attributes:
            raise element.error(f'attribute {name!r} is missing')
    if 'if' in element.attributes and 'unless' in element.attributes:
        raise element.error('has both if and unless; use one')
    for child in element.children:
        if child.tag not in rule.children:
            hint = _HINTS.get(child.tag) or _listing(child.tag, rule.children)
            raise child.error(f'is not known inside <{element.tag}>; {hint}')
        in_include = element.tag == 'include' and child.tag == 'arg'
        _check(child, _INCLUDE_ARGUMENT if in_include else RULES[child.tag])


def _listing(name: str, valid: tuple[str, ...]) -> str:
    if not valid:
        return 'nothing may stand here'
    near = difflib.get_close_matches(name, valid, n=1)
    listing = 'known: ' + ', '.join(valid)
    return f'did you mean {near[0]!r}? {listing}' if near else listing
