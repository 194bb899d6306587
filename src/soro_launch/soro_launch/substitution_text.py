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


class SubstitutionError(ValueError):
    """A substitution is none, or cannot be evaluated; the message says why."""


class _Scan(NamedTuple):
    piece: Text
    end: int


def parse_text(text: str) -> Text:
    """Split a text into literal pieces and calls.

    SubstitutionError: naming the place where the grammar is left.
    """
    return _pieces(text, 0, '', '', 0).piece or ('',)


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
    mark = text[start : start + 1]
    if not quote and mark and mark in '\'"':
        found = _pieces(text, start + 1, mark, mark, depth)
        if found.end >= len(text):
            raise _broken(text, start, f'the closing {mark} is missing')
        return _Scan(found.piece or ('',), found.end + 1)
    found = _pieces(text, start, ' )', quote, depth, '(' + (quote or '\'"'))
    if not found.piece:
        raise _broken(text, start, 'an argument must follow exactly one space')
    return found


def _pieces(
    text: str, position: int, ends: str, quote: str, depth: int, refused: str = ''
) -> _Scan:
    """Read up to one of the characters `ends`, or the end of the text; raise at one `refused`."""
    pieces: list[Piece] = []
    literal = ''
    while position < len(text) and text[position] not in ends:
        if text.startswith('$(', position):
            if literal:
                pieces.append(unescape(literal))
                literal = ''
            call, position = _call(text, position, quote, depth + 1)
            pieces.append(call)
            continue
        if text[position] in refused:
            raise _broken(text, position, f'{text[position]!r} must be quoted or escaped')
        end = position + (2 if text[position] == '\\' else 1)
        literal += text[position:end]
        position = end
    if literal:
        pieces.append(unescape(literal))
    return _Scan(tuple(pieces), position)


def _broken(text: str, position: int, reason: str) -> SubstitutionError:
    whole = text if len(text) <= MAX_SHOWN else f'{text[:MAX_SHOWN]}...'
    return SubstitutionError(f'{reason}, at {text[position : position + 30]!r} of {whole!r}')
