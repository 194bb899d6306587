# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Builds the process of one <node>: command line, environment, what happens when it ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import math
import re
import shlex
from typing import Any

from soro_launch.context import Context
from soro_launch.packages import NotFound, package_executable
from soro_launch.parameters import parameter_argument, ParameterFolder
from soro_launch.substitution_text import Call, parse_text
from soro_launch.substitutions import evaluate, expand, pair, truth
from soro_launch.xml_reader import Element

SIGTERM_TIMEOUT = 5.0  # s, the default of ROS 2 launch
SIGKILL_TIMEOUT = 5.0  # s after SIGTERM, the default of ROS 2 launch


@dataclass(frozen=True)
class ProcessPlan:
    """One process to run."""

    name: str  #: what its output is marked with: the node's name, else its executable
    command: tuple[str, ...]
    environment: dict[str, str]
    on_screen: bool = False  #: False keeps standard output in the log file only
    respawn: bool = False  #: start it again when it ends by itself
    respawn_delay: float = 0.0  #: wait before that [s]
    respawn_limit: int = -1  #: how often at most; negative: no limit
    ends_launch: bool = False  #: ``on_exit="shutdown"``: when it ends, everything stops
    #: sigterm_timeout, sigkill_timeout: patience after SIGINT, and after SIGTERM [s]
    sigterm_timeout: float = SIGTERM_TIMEOUT
    sigkill_timeout: float = SIGKILL_TIMEOUT


def plan_node(element: Element, context: Context, folder: ParameterFolder) -> ProcessPlan:
    """Evaluate a <node>."""
    attributes = element.attributes
    package = expand(element, attributes['pkg'], context)
    executable = expand(element, attributes['exec'], context)
    try:
        path = package_executable(package, executable, context.environment)
    except NotFound as error:
        raise element.error(str(error)) from None
    name = _node_name(element, context)
    namespace = _namespace(element, context)
    command = [*_prefix(element, context), str(path)]
    command += _words(element, 'args', lambda call: evaluate((call,), context))
    if 'ros_args' in attributes:
        words = _words(element, 'ros_args', lambda call: evaluate((call,), context))
        command += ['--ros-args', *words]
    command += ['--ros-args']
    command += ['-r', f'__node:={name}'] if name is not None else []
    command += ['-r', f'__ns:={namespace}'] if namespace is not None else []
    for key, value in context.configurations.get('global_params', []):
        command += ['-p', f'{key}:={value}']
    full = None if name is None or namespace is None else join_names(namespace, name)
    for parameter in element.of('param'):
        file = parameter_argument(parameter, full, context, folder)
        command += ['--params-file', str(file)]
    own = [pair(e, 'from', 'to', context) for e in element.of('remap')]
    for source, target in [*context.configurations.get('ros_remaps', []), *own]:
        command += ['-r', f'{source}:={target}']
    added = dict(pair(e, 'name', 'value', context) for e in element.of('env'))
    environment, policy = context.environment | added, _policy(element, context)
    return ProcessPlan(name or executable, tuple(command), environment, **policy)


def check_node(element: Element) -> None:
    """Refuse what cannot be planned, whatever the values of substitutions are."""
    _fixed_policy(element)
    for attribute in ('args', 'ros_args'):
        _words(element, attribute, lambda call: '')


def join_names(base: str | None, name: str | None) -> str | None:
    """Put a relative name under a base; an absolute name stays as it is."""
    if name is None:
        joined = base
    elif not base or name.startswith('/'):
        joined = name
    else:
        joined = f'{"" if base == "/" else base}/{name}'
    return joined if joined in (None, '/') else joined.rstrip('/')


def push_namespace(element: Element, context: Context) -> None:
    """Evaluate a <push-ros-namespace>."""
    pushed = expand(element, element.attributes['namespace'], context)
    context.configurations['ros_namespace'] = _absolute(
        element, join_names(context.configurations.get('ros_namespace'), pushed)
    )


def _namespace(element: Element, context: Context) -> str | None:
    own = element.attributes.get('namespace')
    text = None if own is None else expand(element, own, context)
    joined = join_names(context.configurations.get('ros_namespace'), text)
    return None if joined is None else _absolute(element, joined)


def _absolute(element: Element, namespace: str | None) -> str:
    text = namespace or ''
    full = text if text.startswith('/') else f'/{text}'
    if full == '/' or re.fullmatch(r'(?!.*__)(/[A-Za-z_][A-Za-z0-9_]*)+', full):
        return full
    hint = ''
    if full.endswith(('.yaml', '.yml')):
        hint = '; where robot is the path of a file, give namespace:=<name> too'
    rule = 'letters, digits and single _ between slashes, no digit after a slash'
    raise element.error(f'{full!r} is not a valid namespace ({rule}){hint}')


def _node_name(element: Element, context: Context) -> str | None:
    if 'name' not in element.attributes:
        return None
    name = expand(element, element.attributes['name'], context)
    if not re.fullmatch(r'[A-Za-z_][A-Za-z0-9_]*', name):
        raise element.error(f'{name!r} is not a valid node name (letters, digits and _)')
    return name


def _words(element: Element, attribute: str, value: Callable[[Call], str]) -> list[str]:
    """Split arguments as ROS 2 launch does: literal text at blanks, the `value` of calls never."""
    if attribute not in element.attributes:
        return []
    words: list[str] = []
    current: list[str] = []

    def close() -> None:
        words.append(''.join(current))
        current.clear()

    try:
        for piece in parse_text(element.attributes[attribute]):
            if not isinstance(piece, str):
                current.append(value(piece))
                continue
            parts = shlex.split(piece)
            if not parts:
                close()
                continue
            if piece[0].isspace() and current:
                close()
            for part in parts[:-1]:
                current.append(part)
                close()
            current.append(parts[-1])
            if piece[-1].isspace():
                close()
    except (NotFound, ValueError) as error:
        raise element.error(f'{attribute}: {error}') from None
    if current:
        close()
    return words


def _prefix(element: Element, context: Context) -> list[str]:
    if 'launch-prefix' in element.attributes:
        text = expand(element, element.attributes['launch-prefix'], context)
    else:
        text = context.configurations.get('launch-prefix', '')
    try:
        return shlex.split(text)
    except ValueError as error:
        raise element.error(f'launch-prefix: {error}') from None


def _policy(element: Element, context: Context) -> dict[str, Any]:
    attributes = element.attributes
    output = expand(element, attributes.get('output', 'log'), context)
    if output not in ('screen', 'log', 'both'):
        raise element.error(f'output={output!r}: write screen, both or log')
    respawn = truth(
        element, 'respawn', expand(element, attributes.get('respawn', 'false'), context)
    )
    return {'on_screen': output != 'log', 'respawn': respawn, **_fixed_policy(element)}


def _fixed_policy(element: Element) -> dict[str, Any]:
    on_exit = element.attributes.get('on_exit')
    if on_exit not in (None, 'shutdown'):
        raise element.error(f'on_exit={on_exit!r}: only "shutdown" is known')
    return {
        'respawn_delay': _number(element, 'respawn_delay', 0.0),
        'respawn_limit': int(_number(element, 'respawn_max_retries', -1, least=-1)),
        'ends_launch': on_exit == 'shutdown',
        'sigterm_timeout': _number(element, 'sigterm_timeout', SIGTERM_TIMEOUT),
        'sigkill_timeout': _number(element, 'sigkill_timeout', SIGKILL_TIMEOUT),
    }


def _number(element: Element, attribute: str, default: float, least: float = 0.0) -> float:
    text = element.attributes.get(attribute)
    if text is None:
        return default
    try:
        value = float(text)
    except ValueError:
        value = float('nan')
    if not least <= value < math.inf:
        raise element.error(f'{attribute}={text!r}: a number of at least {least:g} is needed')
    return value
