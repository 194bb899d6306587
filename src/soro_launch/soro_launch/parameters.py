# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Turns <param> and <set_parameter> into what a ROS node reads on its command line."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import yaml

from soro_launch.context import Context
from soro_launch.errors import LaunchError
from soro_launch.substitution_text import parse_text, SubstitutionError, unescape
from soro_launch.substitutions import boolean, evaluate, expand, yaml_value
from soro_launch.xml_reader import Element

SCALARS = {'str': str, 'int': int, 'float': float, 'bool': bool}
LISTS = {f'list_of_{name}': kind for name, kind in SCALARS.items()}


class ParameterFolder:
    """Writes the parameter files of one launch; they are removed with the folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0

    def write(self, text: str) -> Path:
        """Write a parameter file and return its path."""
        self._count += 1
        path = self._folder / f'launch_params_{self._count}.yaml'
        try:
            path.write_text(text, encoding='utf-8')
        except OSError as error:  # of a full disk names no file
            raise LaunchError(f'{path} cannot be written: {error.strerror}') from None
        return path


def parameter_argument(
    element: Element, node: str | None, context: Context, folder: ParameterFolder
) -> Path:
    """Return the parameter file of one <param>.

    - `element`: the <param>.
    - `node`: fully qualified name of the node; None where the launch file leaves it open.
    """
    if 'from' in element.attributes:
        return _file(element, context, folder)
    name = expand(element, element.attributes['name'], context)
    value = _typed_value(element, context)
    content = {node or '/**': {'ros__parameters': {name: value}}}
    return folder.write(yaml.dump(content, default_flow_style=False))


def check_parameter(element: Element) -> None:
    """Refuse a <param> that means nothing, whatever the values of substitutions are."""
    attributes = element.attributes
    if ('from' in attributes) == ('name' in attributes):
        raise element.error('give either name= and value=, or from=')
    if 'from' in attributes:
        for extra in ('type', 'value'):
            if extra in attributes:
                raise element.error(f'{extra}= does not go with from=')
        if attributes.get('allow_substs', 'false') not in ('true', 'false'):
            raise element.error('allow_substs= must be true or false')
        return
    if 'allow_substs' in attributes:
        raise element.error('allow_substs= belongs to from= only')
    if 'value' not in attributes:
        raise element.error("attribute 'value' is missing")
    text, kind = attributes['value'], attributes.get('type')
    if kind is None and text not in ('true', 'false'):
        raise element.error(
            f'value={text!r} needs a type=; without one launch guesses (1e-3 becomes a '
            f'number, 007 becomes 7). Known: {", ".join((*SCALARS, *LISTS))}'
        )
    if kind not in (None, *SCALARS, *LISTS):
        raise element.error(f'type={kind!r} is not known; known: {", ".join((*SCALARS, *LISTS))}')


def global_parameter(element: Element, context: Context) -> tuple[str, str]:
    """Return name and value of a <set_parameter> as they stand behind ``-p``."""
    name = expand(element, element.attributes['name'], context)
    text = expand(element, element.attributes['value'], context)
    try:
        value = yaml_value(text) if text else ''
    except SubstitutionError as error:
        raise element.error(str(error)) from None
    if not isinstance(value, (bool, int, float, str)):
        raise element.error(
            f'{text!r} is no single value; lists do not survive <set_parameter>, '
            'use <param type="list_of_...">'
        )
    return name, str(value)


def _file(element: Element, context: Context, folder: ParameterFolder) -> Path:
    path = Path(expand(element, element.attributes['from'], context))
    if not os.path.isfile(path):
        raise element.error(f'there is no parameter file {path}')
    substitute = element.attributes.get('allow_substs') == 'true'
    try:
        text = path.read_text(encoding='utf-8')
    except (OSError, ValueError) as error:
        raise element.error(f'{path} cannot be read: {error}') from None
    if substitute:
        text = expand(element, text, context)
    _check_parameter_file(element, path, text)
    return folder.write(text) if substitute else path


def _check_parameter_file(element: Element, path: Path, text: str) -> None:
    """Refuse what ROS would ignore without a word, such as a bare node name under a namespace."""
    try:
        content = yaml_value(text)
    except SubstitutionError as error:
        raise element.error(f'{path}: {error}') from None
    if not isinstance(content, dict):
        raise element.error(f'{path} must map node names to ros__parameters')
    for key, value in content.items():
        if not str(key).startswith('/'):
            raise element.error(
                f'{path}: the key {key!r} would be ignored under a namespace; write /**/{key} or '
                '/**'
            )
        if not isinstance(value, dict) or 'ros__parameters' not in value:
            raise element.error(f'{path}: {key!r} must hold ros__parameters')


def _typed_value(element: Element, context: Context) -> Any:
    text = element.attributes['value']
    name = element.attributes.get('type')
    if name is None:
        return text == 'true'
    try:
        if name in LISTS:
            return _list(text, LISTS[name], name, context)
        return _scalar(evaluate(parse_text(text), context), SCALARS[name], name)
    except SubstitutionError as error:
        raise element.error(str(error)) from None


def _scalar(text: str, kind: type, name: str) -> Any:
    if kind is bool:
        return boolean(text)
    try:
        return kind(text)
    except ValueError:
        raise SubstitutionError(f'{text!r} is not of type {name}') from None


def _list(text: str, kind: type, name: str, context: Context) -> list[Any]:
    items = yaml_value(text)
    if not isinstance(items, list):
        raise SubstitutionError(
            f'{text!r} is not of type {name}; write the brackets in the launch file, '
            'substitutions may only stand for items'
        )
    values = []
    for item in items:
        if isinstance(item, str) and kind is not str:
            item = _scalar(evaluate(parse_text(item), context), kind, name)
        elif isinstance(item, str):
            item = evaluate(parse_text(item), context) if '$(' in item else unescape(item)
        if type(item) is not kind:
            raise SubstitutionError(f'item {item!r} of {text!r} is not of type {kind.__name__}')
        values.append(item)
    return values
