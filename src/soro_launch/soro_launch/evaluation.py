# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Evaluates a launch file into the processes to run, in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
import os
from pathlib import Path

from soro_launch.arguments import declared_arguments, refuse_unknown
from soro_launch.context import Context
from soro_launch.node_plan import check_node, plan_node, ProcessPlan, push_namespace
from soro_launch.parameters import check_parameter, global_parameter, ParameterFolder
from soro_launch.substitution_text import SubstitutionError, unescape
from soro_launch.substitutions import check_calls, expand, is_true, pair, truth
from soro_launch.xml_reader import Element, read_launch_file

DEPTH_LIMIT = 50  # includes inside includes: more means that a file includes itself


@dataclass
class LaunchPlan:
    """What a launch file asks for."""

    processes: list[ProcessPlan] = field(default_factory=list)  #: in the order of the file
    messages: list[str] = field(default_factory=list)  #: texts of <log>


def plan_launch(
    file: Path | str,
    arguments: Mapping[str, str],
    environment: Mapping[str, str],
    parameter_folder: Path,
) -> LaunchPlan:
    """Evaluate a launch file.

    - `arguments`: ``name:=value`` of the user.
    - `environment`: of the processes; packages are found by its AMENT_PREFIX_PATH.
    - `parameter_folder`: where parameter files are written; it must outlive the processes.

    LaunchError: with file and line.
    """
    path = Path(os.path.abspath(file))  # links stay: $(dirname) is the folder that was named
    root = read_launch_file(path)
    refuse_unknown(arguments, declared_arguments(root, environment), str(path))
    context = Context(environment)
    context.configurations.update(arguments)
    evaluation = _Evaluation(context, ParameterFolder(parameter_folder))
    evaluation.file(root, path)
    return evaluation.plan


class _Evaluation:
    """One walk through the elements, depth first, as ROS 2 launch visits them."""

    def __init__(self, context: Context, folder: ParameterFolder) -> None:
        self.plan = LaunchPlan()
        self._context = context
        self._folder = folder
        self._depth = 0
        self._handlers: dict[str, Callable[[Element], None]] = {
            'arg': self._arg,
            'let': lambda e: context.configurations.update([pair(e, 'name', 'value', context)]),
            'group': self._group,
            'push-ros-namespace': lambda e: push_namespace(e, context),
            'set_parameter': lambda e: context.append(
                'global_params', [global_parameter(e, context)]
            ),
            'set_remap': lambda e: context.append('ros_remaps', [pair(e, 'from', 'to', context)]),
            'set_env': lambda e: context.environment.update([pair(e, 'name', 'value', context)]),
            'include': self._include,
            'log': self._log,
            'node': self._node,
        }

    def file(self, root: Element, path: Path) -> None:
        """Walk through one file."""
        context = self._context
        outer, context.folder = context.folder, path.parent
        context.folder_of_last_include = None
        _check(root)
        self._visit(root.children)
        context.folder = outer
        context.folder_of_last_include = context.folder_of_last_include or path.parent

    def _visit(self, elements: list[Element]) -> None:
        for element in elements:
            if self._wanted(element):
                self._handlers[element.tag](element)

    def _wanted(self, element: Element) -> bool:
        for attribute, wanted in (('if', True), ('unless', False)):
            if attribute in element.attributes:
                text = self._expand(element, attribute)
                try:
                    return is_true(text) is wanted
                except SubstitutionError as error:
                    raise element.error(f'{attribute}: {error}') from None
        return True

    def _expand(self, element: Element, attribute: str) -> str:
        return expand(element, element.attributes[attribute], self._context)

    def _arg(self, element: Element) -> None:
        name = unescape(element.attributes['name'])
        values = self._context.configurations
        if name not in values:
            if 'default' not in element.attributes:
                about = element.attributes.get('description', 'no description')
                raise element.error(f'{name}:= must be given ({about})')
            values[name] = self._expand(element, 'default')
        choices = [unescape(c.attributes['value']) for c in element.of('choice')]
        if choices and values[name] not in choices:
            raise element.error(f'{name}:={values[name]}: choose one of {", ".join(choices)}')

    def _group(self, element: Element) -> None:
        context = self._context
        scoped, forwarding = _scope(element)
        inner = [child for child in element.children if child.tag != 'keep']
        if scoped:
            context.push()
        if scoped and not forwarding:
            context.reset_environment()
        kept = [pair(k, 'name', 'value', context) for k in element.of('keep')]
        if scoped and not forwarding:
            context.configurations = {}
        context.configurations.update(kept)
        self._visit(inner)
        if scoped:
            context.pop()

    def _include(self, element: Element) -> None:
        path = Path(self._expand(element, 'file'))
        if not path.is_absolute():
            raise element.error(
                f'file={str(path)!r} would be looked up where the user happens to stand; '
                'write $(dirname)/... or $(find-pkg-share ...)/...'
            )
        if not os.path.isfile(path):
            raise element.error(f'there is no launch file {path}')
        self._context.count_include(element)
        if self._depth >= DEPTH_LIMIT:
            raise element.error(f'{path} includes itself')
        for argument in element.of('arg'):  # stays after the include, as in ROS 2
            name, value = pair(argument, 'name', 'value', self._context)
            self._context.configurations[name] = value
        self._depth += 1
        self.file(read_launch_file(path), Path(os.path.abspath(path)))
        self._depth -= 1

    def _log(self, element: Element) -> None:
        self.plan.messages.append(self._expand(element, 'message'))

    def _node(self, element: Element) -> None:
        self.plan.processes.append(plan_node(element, self._context, self._folder))


def _check(element: Element) -> None:
    """Refuse what is refused as a file is read, as ROS 2 launch does, whatever conditions say.

    Also what only this subset lacks: else it would be found by whoever changes a condition.
    """
    check_calls(element)
    if element.tag == 'node':
        check_node(element)
    elif element.tag == 'param':
        check_parameter(element)
    elif element.tag == 'group':
        _scope(element)
    for child in element.children:
        _check(child)


def _scope(element: Element) -> list[bool]:
    names = 'scoped', 'forwarding'
    return [truth(element, name, element.attributes.get(name, 'true')) for name in names]
