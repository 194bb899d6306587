# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""soro new: a robot file from a few answers."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from soro_cli.tables import ask, note
from soro_node.file_errors import unused, writing
from soro_node.user_errors import UserError

if TYPE_CHECKING:
    from soro_cli.robot_templates import Question

SUMMARY = 'write a commented robot file of your own from a few answers'
EPILOG = """\
examples:
  soro new my_arm                                   asks; Enter takes what stands in brackets
  soro new my_arm --kind tendons --yes              asks nothing
  soro new my_arm --kind arm --set length=90mm --yes

What was not asked is assumed and says so. The file is checked before it is written.
"""
KINDS = ('arm', 'tendons', 'legs')
MOST = 12  # actuators


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument('name', help='of the robot: lower-case letters, digits, _')
    parser.add_argument('--kind', choices=KINDS, help='what it is; none: asks')
    parser.add_argument(
        '--set', action='append', default=[], metavar='KEY=VALUE', help='an answer beforehand'
    )
    parser.add_argument('--yes', action='store_true', help='take the default of every question')
    parser.add_argument('--output', metavar='FILE', help='default: NAME.yaml in this folder')


def run(arguments: argparse.Namespace) -> int:
    """Run the verb."""
    from pathlib import Path
    import re

    import yaml

    from soro_cli.main import NUMBER
    from soro_cli.robot_templates import robot_text, TEMPLATES
    from soro_mechanics.robot_file.catalogue import robot_files
    from soro_mechanics.robot_file.reader import describe_robot, NAME

    name = arguments.name
    taken = name in robot_files() or NUMBER.fullmatch(name)  # whose value it would be taken for
    if not re.fullmatch(NAME, name) or yaml.safe_load(name) != name or taken:
        rule = 'a-z first, then a-z, 0-9, _; not in `soro list`; not no, on, null or nan'
        raise UserError(f'name = {name!r}: write {rule}')
    target = unused(Path(arguments.output or f'{name}.yaml'), '--output')
    if not target.parent.is_dir():
        raise UserError(f'{target.parent} is no folder; make it, or write --output FILE')
    kind = arguments.kind or ('arm' if arguments.yes else _asked_kind())
    given = dict(word.partition('=')[::2] for word in arguments.set)
    if len(given) < len(arguments.set):
        raise UserError(f'--set {" ".join(arguments.set)}: a key is given twice; write it once')
    questions = TEMPLATES[kind].questions
    unknown = sorted(set(given) - {q.key for q in questions})
    if unknown:
        raise UserError(f'--set {unknown[0]}: expected {", ".join(q.key for q in questions)}')
    answers = {q.key: _checked(q, given[q.key]) for q in questions if q.key in given}
    answers |= {q.key: _answer(q, arguments.yes) for q in questions if q.key not in given}
    text = robot_text(kind, name, answers)
    describe_robot(yaml.safe_load(text), str(target))
    with writing(target):
        target.write_text(text, encoding='utf-8')
    path = target if target.is_absolute() else f'./{target}'
    note(f'written: {target}. Next:\n  soro doctor {path}\n  soro launch {path} viewer:=true')
    return 0


def _asked_kind() -> str:
    from soro_cli.robot_templates import TEMPLATES

    for name, template in TEMPLATES.items():
        print(f'  {name:<8} {template.summary}')
    while (kind := _read('kind', KINDS[0])) not in KINDS:
        print(f'  one of {", ".join(KINDS)}')
    return kind


def _answer(question: Question, silent: bool) -> str:
    if silent:
        return question.default
    while True:
        text = _read(question.text, question.default)
        try:
            return _checked(question, text)
        except UserError as error:
            print(f'  {error}')


def _read(text: str, default: str) -> str:
    return ask(f'{text} [{default}]: ').strip() or default


def _checked(question: Question, text: str) -> str:
    """Return an answer as a robot file writes it: a positive quantity, or a whole number."""
    from soro_node import display_units

    if not question.unit:
        if not text.isdigit() or not 2 <= int(text) <= MOST:
            raise UserError(f'{question.key} = {text!r}: write a whole number from 2 to {MOST}')
        return text
    if not display_units.number(text, question.unit, question.key) > 0.0:
        raise UserError(f'{question.key} = {text!r}: it must be positive')
    return text
