# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Grammar of launch texts: plain text with ``$(name argument ...)`` inside.

The grammar is the one of ROS 2 launch: arguments are separated by exactly one space, an argument
may be wrapped in single or double quotes, substitutions nest, a backslash takes the next
character literally.
"""

from __future__ import annotations

from dataclasses import dataclass
import re
from typing import NamedTuple


@dataclass(frozen=True)
class Call:
    """One ``$(name arguments...)``; each argument is a text of its own."""

    name: str
    arguments: tuple[Text, ...]


Piece = str | Call
Text = tuple[Piece, ...]

MAX_SHOWN = 300  # characters of a text in a message
DEEPEST = 20  # calls inside calls
_NAME = re.compile(r'[A-Za-z][A-Za-z0-9_-]*')
_ESCAPE = re.compile(r'\\(.)')


class SubstitutionSyntaxError(ValueError):
    """The text does not follow the grammar."""


class _Scan(NamedTuple):
    piece: Text
    end: int


def parse_text(text: str) -> Text:
    """Split a text into literal pieces and calls.

    Raises
    ------
    SubstitutionSyntaxError
        Naming the place where the grammar is left.
    """
    if not text:
        return ('',)
    pieces: list[Piece] = []
    literal_start = position = 0
    while position < len(text):
        if text[position] == '\\':
            position += 2
        elif text.startswith('$(', position):
            if position > literal_start:
                pieces.append(unescape(text[literal_start:position]))
            call, position = _call(text, position, quote='', depth=1)
            pieces.append(call)
            literal_start = position
        else:
            position += 1
    if literal_start < len(text):
        pieces.append(unescape(text[literal_start:]))
    return tuple(pieces)


def unescape(text: str) -> str:
    """Replace every backslash and the character after it by that character."""
    return _ESCAPE.sub(r'\1', text)


def _call(text: str, start: int, quote: str, depth: int) -> tuple[Call, int]:
    """Parse ``$(`` at `start`; `quote` is the quotation mark the call stands in, or empty."""
    if depth > DEEPEST:
        raise _broken(text, start, f'more than {DEEPEST} calls stand inside each other')
    name = _NAME.match(text, start + 2)
    if name is None:
        raise _broken(text, start, 'a name must follow $(')
    arguments: list[Text] = []
    position = name.end()
    while True:
        if position >= len(text):
            raise _broken(text, start, 'the closing ) is missing')
        if text[position] == ')':
            return Call(name.group(), tuple(arguments)), position + 1
        if text[position] != ' ':
            raise _broken(text, position, 'a space or ) must stand here')
        argument, position = _argument(text, position + 1, quote, depth)
        arguments.append(argument)


def _argument(text: str, start: int, quote: str, depth: int) -> _Scan:
    if not quote and text[start : start + 1] in ("'", '"'):
        return _quoted(text, start, depth)
    pieces: list[Piece] = []
    literal = ''
    position = start
    while position < len(text) and text[position] not in ' )':
        if text.startswith('$(', position):
            if literal:
                pieces.append(unescape(literal))
                literal = ''
            call, position = _call(text, position, quote, depth + 1)
            pieces.append(call)
            continue
        if text[position] == '\\':
            literal += text[position : position + 2]
            position += 2
            continue
        if text[position] == '(' or text[position] in (quote or '\'"'):
            raise _broken(text, position, f'{text[position]!r} must be quoted or escaped')
        literal += text[position]
        position += 1
    if literal:
        pieces.append(unescape(literal))
    if not pieces:
        raise _broken(text, start, 'an argument must follow exactly one space')
    return _Scan(tuple(pieces), position)


def _quoted(text: str, start: int, depth: int) -> _Scan:
    quote = text[start]
    pieces: list[Piece] = []
    literal = ''
    position = start + 1
    while position < len(text):
        if text[position] == quote:
            if literal:
                pieces.append(unescape(literal))
            return _Scan(tuple(pieces) or ('',), position + 1)
        if text.startswith('$(', position):
            if literal:
                pieces.append(unescape(literal))
                literal = ''
            call, position = _call(text, position, quote, depth + 1)
            pieces.append(call)
        elif text[position] == '\\':
            literal += text[position : position + 2]
            position += 2
        else:
            literal += text[position]
            position += 1
    raise _broken(text, start, f'the closing {quote} is missing')


def _broken(text: str, position: int, reason: str) -> SubstitutionSyntaxError:
    whole = text if len(text) <= MAX_SHOWN else f'{text[:MAX_SHOWN]}...'
    return SubstitutionSyntaxError(f'{reason}, at {text[position : position + 30]!r} of {whole!r}')
