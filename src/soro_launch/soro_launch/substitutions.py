# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Evaluates the substitutions of the subset."""

from __future__ import annotations

from collections.abc import Callable
import math
import shlex
import subprocess
import sys
from typing import Any

import yaml

from soro_launch.context import Context
from soro_launch.packages import NotFound, package_executable, package_share
from soro_launch.substitution_text import Call, MAX_SHOWN, parse_text, SubstitutionError, Text
from soro_launch.xml_reader import Element

LONGEST = 10**6  # characters of a text with everything put in
_AS_WRITTEN = {'arg': ('name', 'description'), 'choice': ('value',)}


def expand(element: Element, text: str, context: Context) -> str:
    """Evaluate a text that stands in an element.

    LaunchError: with file and line of the element.
    """
    try:
        return evaluate(parse_text(text), context)
    except (SubstitutionError, NotFound) as error:
        raise element.error(str(error)) from None


def check_calls(element: Element) -> None:
    """Refuse calls in an element that cannot be evaluated, whatever the values are.

    LaunchError: with file and line of the element.
    """
    for name, text in element.attributes.items():
        if name in _AS_WRITTEN.get(element.tag, ()):
            continue
        try:
            texts = [text]
            if name == 'value' and element.attributes.get('type', '').startswith('list_of_'):
                items = yaml_value(text)
                texts = [x for x in items if isinstance(x, str)] if isinstance(items, list) else []
            for each in texts:
                _check(parse_text(each))
        except SubstitutionError as error:
            raise element.error(f'{name}: {error}') from None


def pair(element: Element, first: str, second: str, context: Context) -> tuple[str, str]:
    """Evaluate two attributes of an element, as `expand` does."""
    a, b = (expand(element, element.attributes[name], context) for name in (first, second))
    return a, b


def evaluate(text: Text, context: Context) -> str:
    """Evaluate a parsed text."""
    whole = ''.join(p if isinstance(p, str) else _perform(p, context) for p in text)
    if len(whole) > LONGEST:
        raise SubstitutionError(f'the text grows beyond {LONGEST} characters')
    return whole


def yaml_value(text: str) -> Any:
    """Return what a text means as YAML, as ROS reads the values of parameters.

    SubstitutionError: it means nothing.
    """
    try:
        return yaml.safe_load(text) if text else None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        reason = ' '.join(str(error).split())[:MAX_SHOWN]
        raise SubstitutionError(f'{text[:MAX_SHOWN]!r} is no value: {reason}') from None


def is_true(expression: str) -> bool:
    """Return the truth of an if/unless expression, which knows true, false, 1 and 0 only."""
    word = expression.strip().lower()
    if word in ('true', '1'):
        return True
    if word in ('false', '0'):
        return False
    raise SubstitutionError(f'{expression!r} is not a condition; known: true, false, 1, 0')


def boolean(text: str) -> bool:
    """Return a truth value by the rules of YAML, 1 and 0 included."""
    value = {'1': True, '0': False}.get(text)
    if value is None:
        value = yaml_value(text)
    if not isinstance(value, bool):
        raise SubstitutionError(f'{text!r} is not a truth value; write true or false')
    return value


def _check(text: Text) -> None:
    for call in text:
        if isinstance(call, Call):
            _function(call)
            for argument in call.arguments:
                _check(argument)


def truth(element: Element, attribute: str, text: str) -> bool:
    """Return `boolean` of a text that stands in an element; LaunchError: with file and line."""
    try:
        return boolean(text)
    except SubstitutionError as error:
        raise element.error(f'{attribute}: {error}') from None


def _perform(call: Call, context: Context) -> str:
    return _function(call)(context, *call.arguments)


def _function(call: Call) -> Callable[..., str]:
    if call.name not in _FUNCTIONS:
        known = ', '.join(_FUNCTIONS)
        raise SubstitutionError(f'$({call.name} ...) is not known to this runner; known: {known}')
    function, least, most = _FUNCTIONS[call.name]
    if not least <= len(call.arguments) <= most:
        wanted = str(least) if least == most else f'{least} to {most}'
        raise SubstitutionError(
            f'$({call.name} ...) takes {wanted} arguments, {len(call.arguments)} given'
        )
    return function


def _variable(context: Context, name: Text, default: Text | None = None) -> str:
    key = evaluate(name, context)
    if key in context.configurations:
        return str(context.configurations[key])
    if default is None:
        known = ', '.join(k for k, v in context.configurations.items() if isinstance(v, str))
        raise SubstitutionError(f'$(var {key}) has no value here; known: {known or "none"}')
    return evaluate(default, context)


def _environment(context: Context, name: Text, default: Text | None = None) -> str:
    key = evaluate(name, context)
    if key in context.environment:
        return context.environment[key]
    if default is None:
        raise SubstitutionError(f'the environment variable {key} is not set and has no default')
    return evaluate(default, context)


def _package_share(context: Context, name: Text) -> str:
    return str(package_share(evaluate(name, context), context.environment))


def _package_executable(context: Context, executable: Text, package: Text) -> str:
    names = evaluate(package, context), evaluate(executable, context)
    return str(package_executable(*names, context.environment))


def _folder(context: Context) -> str:
    included = context.folder_of_last_include
    if included is not None and included != context.folder:
        raise SubstitutionError(
            '$(dirname) after an <include> of another folder means that folder in some releases '
            'of ROS 2 launch; use $(find-pkg-share ...)'
        )
    return str(context.folder)


def _equal(left: str, right: str) -> bool:
    booleans = {'true': True, '1': True, 'false': False, '0': False}
    if left.lower() in booleans and right.lower() in booleans:
        return booleans[left.lower()] is booleans[right.lower()]
    try:
        return math.isclose(float(left), float(right))
    except ValueError:
        return left == right


def _says(truth: Callable[..., bool]) -> Callable[..., str]:
    """Return a function that says whether something is true of its texts, each evaluated."""

    def said(context: Context, *texts: Text) -> str:
        return 'true' if truth(*[evaluate(text, context) for text in texts]) else 'false'

    return said


def _command(context: Context, line: Text, on_stderr: Text = ('fail',)) -> str:
    policy = evaluate(on_stderr, context)
    if policy not in ('fail', 'ignore', 'warn', 'capture'):
        raise SubstitutionError(f'{policy!r}: write fail, ignore, warn or capture')
    try:
        words = shlex.split(evaluate(line, context))
    except ValueError as error:
        raise SubstitutionError(f'$(command ...): {error}') from None
    if not words:
        raise SubstitutionError('$(command ...) names no program')
    error_target = subprocess.STDOUT if policy == 'capture' else subprocess.PIPE
    try:
        done = subprocess.run(
            words,
            stdout=subprocess.PIPE,
            stderr=error_target,
            text=True,
            check=False,
            errors='replace',
            env=context.environment,
        )
    except OSError as error:
        raise SubstitutionError(f'{words[0]} cannot be run: {error.strerror}') from None
    if done.returncode != 0:
        raise SubstitutionError(f'{words[0]} failed with {done.returncode}: {done.stderr.strip()}')
    if done.stderr and policy == 'fail':
        raise SubstitutionError(f'{words[0]} wrote to standard error: {done.stderr}')
    if done.stderr and policy == 'warn':
        sys.stderr.write(done.stderr)
    return done.stdout


# name -> (function, least and most number of arguments)
_FUNCTIONS: dict[str, tuple[Callable[..., str], int, int]] = {
    'var': (_variable, 1, 2),
    'env': (_environment, 1, 2),
    'find-pkg-share': (_package_share, 1, 1),
    'exec-in-pkg': (_package_executable, 2, 2),
    'dirname': (_folder, 0, 0),
    'equals': (_says(_equal), 2, 2),
    'not-equals': (_says(lambda left, right: not _equal(left, right)), 2, 2),
    'not': (_says(lambda value: not boolean(value)), 1, 1),
    # both are read, so that what is no truth value is found whatever the other one says
    'and': (_says(lambda left, right: boolean(left) & boolean(right)), 2, 2),
    'or': (_says(lambda left, right: boolean(left) | boolean(right)), 2, 2),
    'command': (_command, 1, 2),
}
