# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The command ``soro VERB``: finds the verb, parses its options, turns errors into one line.

Verbs are entry points of the group ``soro_cli.verb``, so that another package can add one. A verb
module declares ``SUMMARY``, optionally ``EPILOG``, ``add_arguments(parser)`` and
``run(arguments) -> int``; it imports what is heavy inside `run`.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
import contextlib
import difflib
import errno
from importlib.metadata import entry_points, EntryPoint
import json
import math
import os
import re
import sys
from typing import Any, NoReturn
import warnings

from soro_cli.interrupts import INTERRUPTED, Interrupts, no_more_interrupts
from soro_cli.robot_choice import NAMESPACE
from soro_node.user_errors import UserError

GROUP = 'soro_cli.verb'
SAFETY = ('estop', 'stop')  # first in the list: who looks for them is in a hurry
# Here a name in front is the robot's, as people write it.
NAMED = (*SAFETY, 'fk', 'ik', 'jacobian', 'compliance', 'compare', 'move', 'workspace')
NUMBER = re.compile('nan|inf|infinity', re.IGNORECASE)  # a word that is no name, but a value
# What an output fails with: nobody reads, no space, over a quota or limit, broken, closed.
OUTPUT_LOST = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)


def main(words: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0 only on success."""
    for name in ('stdout', 'stderr'):  # closed by whoever called: nobody wants to read it
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, 'w', encoding='utf-8'))  # noqa: SIM115
    warnings.formatwarning = lambda text, kind, file, line, *_: f'soro: {file}:{line}: {text}\n'
    with Interrupts() as interrupts:
        try:
            interrupts.let_through()
            try:
                code = _command(list(sys.argv[1:] if words is None else words))
            except SystemExit as ended:  # argparse has explained itself
                code = ended.code if isinstance(ended.code, int) else 1
            sys.stdout.flush()
        except KeyboardInterrupt:
            code = INTERRUPTED
        except OSError as error:
            code = _output_lost(error)
        except Exception:
            if not interrupts.came:
                raise
            code = INTERRUPTED  # a module that was interrupted while it was loaded says otherwise
    return code


def _output_lost(error: OSError) -> int:
    """Say that what was printed did not arrive; return the exit code.

    OSError: it is another error.
    """
    if error.filename is not None or error.errno not in OUTPUT_LOST:
        raise error
    # What is still buffered fails again at exit, and Python would complain.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        return 0  # the reader (head, less) has had enough
    return _fail(f'the output cannot be written: {error.strerror}', 1, as_json=False)


def _command(words: list[str]) -> int:
    known = verbs()
    if not words or words[0] in ('-h', '--help', 'help'):
        print(_overview(known))
        return 0 if words else 2
    name, *rest = words
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f' Did you mean {near[0]!r}?' if near else ''
        listing = ', '.join(sorted(known))
        return _fail(f'there is no verb {name!r}.{hint} Verbs: {listing}', 2, as_json=False)
    return _run_verb(name, known[name], rest)


def verbs() -> dict[str, EntryPoint]:
    """Return every verb of every installed package, by name."""
    return {point.name: point for point in entry_points(group=GROUP)}


def verb_parser(name: str, point: EntryPoint) -> argparse.ArgumentParser:
    """Return the parser of a verb's arguments."""
    verb = point.load()
    parser = _Parser(
        prog=f'soro {name}',
        description=verb.SUMMARY,
        epilog=getattr(verb, 'EPILOG', None),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.register('type', float, _finite)
    parser._negative_number_matcher = re.compile(r'-[.\d]')  # -10mm is no option
    verb.add_arguments(parser)
    return parser


def _finite(word: str) -> float:
    with contextlib.suppress(ValueError):
        if math.isfinite(number := float(word)):
            return number
    raise argparse.ArgumentTypeError(f'{word!r} is no finite number without unit')


def _run_verb(name: str, point: EntryPoint, words: list[str]) -> int:
    verb = point.load()
    parser = verb_parser(name, point)
    first = words[0] if name in NAMED and words else ''
    if NAMESPACE.fullmatch(first) and not NUMBER.fullmatch(first):
        if any(word.partition('=')[0] == '--robot' for word in words):
            parser.error(f'two robots: {words[0]!r}, and that of --robot')
        words = ['--robot', *words]
    arguments = parser.parse_intermixed_args(words)
    as_json = getattr(arguments, 'json', False)
    try:
        return int(verb.run(arguments))
    except UserError as error:
        return _fail(str(error), error.code, as_json)
    except OSError as error:
        # A folder or file that was named cannot be read or written; anything else is our bug.
        if error.filename is None:
            raise
        return _fail(f'{error.filename}: {error.strerror}', 1, as_json)
    except Exception as error:
        # Refused input: the library's own errors (SoroError, often a ValueError) have a code.
        if not isinstance(getattr(error, 'code', None), int):
            raise
        return _fail(str(error), int(error.code), as_json)


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, and that says when its help could not be written."""

    def error(self, message: str) -> NoReturn:
        """Refuse the words typed; how they are written is in the help."""
        self.exit(2, f'soro: {message}; see {self.prog} --help\n')

    def print_help(self, file: Any = None) -> None:
        """Print what the options mean."""
        print(self.format_help(), end='', file=file)


def _fail(message: str, code: int, as_json: bool) -> int:
    if as_json:
        print(json.dumps({'error_code': code, 'error_message': message}))
    with contextlib.suppress(OSError):
        print(f'soro: {message}', file=sys.stderr)
    return 2 if code == 2 else 1


def _overview(verbs: dict[str, EntryPoint]) -> str:
    lines = ['soro VERB ... : soft parallel and continuum robots', '', 'verbs:']
    order = sorted(verbs, key=lambda name: (name not in SAFETY, name))
    lines += [f'  {name:<12}{verbs[name].load().SUMMARY}' for name in order]
    lines += ['', '`soro VERB --help` explains one of them.']
    return '\n'.join(lines)


if __name__ == '__main__':
    result = main()
    no_more_interrupts()
    sys.exit(result)
