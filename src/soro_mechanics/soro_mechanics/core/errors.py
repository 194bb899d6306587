# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Errors of this library. Each carries what a person needs: the field, the value, the remedy."""

from __future__ import annotations

from collections.abc import Iterable
import difflib
from typing import Any

from soro_mechanics.core.status import Code

MAX_SHOWN = 200  # characters of a value in a message: enough to find it by


class SoroError(Exception):
    """Base class of every error that soro raises on purpose.

    `message` is for people, `code` for programs: a class of its own has only what is caught.
    """

    code = Code.UNKNOWN

    def __init__(self, message: str = '', code: Code | None = None) -> None:
        super().__init__(message)
        if code is not None:
            self.code = code

    def __reduce__(self) -> Any:
        """Cross to another process whatever `__init__` asks for; pools break of what cannot."""
        return type(self).__new__, (type(self), *self.args), self.__dict__


class MissingPackage(SoroError, ImportError):
    """A package is not installed; the message says where it comes from."""


class InvalidInput(SoroError, ValueError):
    """An argument was refused: `field`, the `value` given, and what was `expected`.

    `code` is the request error that a service reports.
    """

    def __init__(
        self, field: str, value: object, expected: str, code: Code = Code.OUT_OF_RANGE
    ) -> None:
        super().__init__(f'{field} = {shown(value)}: expected {expected}')
        self.field = field
        self.value = value
        self.expected = expected
        self.code = code


class UnknownName(InvalidInput):
    """A name that is not in the list of valid names, which the error carries."""

    def __init__(
        self,
        field: str,
        value: object,
        valid: Iterable[str],
        code: Code = Code.UNKNOWN_NAME,
        remedy: str = '',
    ) -> None:
        self.valid = tuple(valid)
        names = closest(str(value), self.valid)
        super().__init__(field, value, f'{names}; {remedy}' if remedy else names, code)


class MissingFile(UnknownName):
    """The path of a file that is not there; it has no valid names."""

    def __init__(self, field: str, value: object, place: str) -> None:
        expected = f'an existing file; there is no such file (looked in {place})'
        InvalidInput.__init__(self, field, value, expected, Code.UNKNOWN_NAME)
        self.valid = ()


class RobotFileError(SoroError, ValueError):
    """A robot file was refused: where, what stands there, and what to write instead."""

    code = Code.OUT_OF_RANGE

    def __init__(self, path: str, value: object, remedy: str, file: str = '') -> None:
        place = f'{file}: {path}' if file else path
        super().__init__(f'{place} = {shown(value)}: {remedy}')
        self.path = path
        self.value = value
        self.remedy = remedy
        self.file = file


class UnknownKey(RobotFileError):
    """A key of a robot file that nobody reads."""


def shown(value: object) -> str:
    """Return a value as a message shows it; whatever it is, short enough for one."""
    try:
        text = repr(value.tolist() if hasattr(value, 'tolist') else value)
    except ValueError:  # Python writes no whole number of more than some thousand digits
        text = 'a number of too many digits'
    return text if len(text) <= MAX_SHOWN else f'{text[:MAX_SHOWN]}...'


def closest(name: str, valid: tuple[str, ...]) -> str:
    """Say which names are valid, the nearest one first when there is one."""
    near = difflib.get_close_matches(name, valid, n=1)
    listing = 'one of ' + ', '.join(valid) if valid else 'nothing (there is none)'
    return f'{listing}; did you mean {near[0]!r}?' if near else listing
