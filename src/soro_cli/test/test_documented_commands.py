# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What the pages tell people to type is understood and has an answer; every verb is explained."""

from importlib.metadata import entry_points
import json
import re
import xml.etree.ElementTree as ElementTree

from documented_commands import commands, Documented, PAGES, ROOT
import pytest

from soro_cli.main import GROUP, main

EVERYTHING = [c for page in PAGES for c in commands(page)]
# A page about a robot means this robot; the others mean the first one.
ROBOTS = {f'docs/robots/{p.stem}.md': p.stem for p in (ROOT / 'config/robots').glob('*.yaml')}
DEFAULT = 'stiff_flop'
VERBS = {point.name: point for point in entry_points(group=GROUP)}


def asked(command: Documented) -> list[str] | None:
    """Return the same question without a running robot; None: there is none."""
    verb, *words = command.words
    if '--robot' in words or '--namespace' in words or '-n' in words:
        return None
    if verb == 'move' and '--pose' in words:
        k = words.index('--pose')
        verb, words = 'ik', words[k + 1 : k + 4]
    present = verb in ('compliance', 'jacobian') and not re.search(r'\d', ' '.join(words))
    if verb not in ('fk', 'ik', 'compare', 'compliance', 'jacobian') or present:
        return None
    return [verb, *words, '--offline', '--robot', ROBOTS.get(command.page, DEFAULT)]


# The robot of that page is the reader's own.
OWN = 'docs/describe_your_own_robot.md'
QUESTIONS = {str(c): asked(c) for c in EVERYTHING if asked(c) and c.page != OWN}


@pytest.mark.parametrize('command', EVERYTHING, ids=str)
def test_a_documented_command_is_understood(command, monkeypatch):
    assert command.words[0] in VERBS
    seen = []
    module = VERBS[command.words[0]].load()
    monkeypatch.setattr(module, 'run', lambda arguments: seen.append(arguments) or 0)
    assert main(command.words) == 0, command  # argparse leaves with 2
    assert len(seen) == 1


@pytest.mark.parametrize('command', QUESTIONS)
def test_a_documented_question_has_an_answer(command, capsys, monkeypatch, tmp_path):
    page = (ROOT / 'docs/models/stiffness.md').read_text(encoding='utf-8')
    pulls = re.search(r'^```text\n(fx.*?)^```', page, re.DOTALL | re.MULTILINE).group(1)
    (tmp_path / 'pulls.csv').write_text(pulls, encoding='utf-8')
    monkeypatch.chdir(tmp_path)
    assert main(QUESTIONS[command]) == 0, command
    assert capsys.readouterr().out


def test_every_verb_is_in_the_table():
    table = (ROOT / 'docs/cli.md').read_text(encoding='utf-8').partition('## ')[0]
    documented = set(re.findall(r'^\| `soro (\w+)', table, flags=re.MULTILINE))
    assert documented == set(VERBS)


def test_the_shown_answer_is_what_comes_out(capsys):
    page = (ROOT / 'docs/cli.md').read_text(encoding='utf-8')
    shown = re.search(r'\$ soro fk 0\.5bar 0 0\n(.*?)\n  \.\.\.', page, re.DOTALL).group(1)
    assert main(['fk', '0.5bar', '0', '0', '--offline', '--robot', DEFAULT]) == 0
    assert capsys.readouterr().out.startswith(shown)
    assert main(['fk', '0.5bar', '0', '0', '--json', '--offline', '--robot', DEFAULT]) == 0
    position = json.loads(capsys.readouterr().out)['configuration']['tip']['position']
    start = re.search(r'^\[(-?[\d.]+)\.\.\., ([\d.]+), ([\d.]+)\.\.\.\]', page, re.MULTILINE)
    for number, text in zip(position, start.groups(), strict=True):
        assert repr(number).startswith(text)


def test_every_launch_argument_is_in_the_table():
    launch = ElementTree.parse(ROOT / 'launch/robot.launch.xml').getroot()
    declared = {a.get('name') for a in launch.findall('arg')}
    table = (ROOT / 'docs/launch.md').read_text(encoding='utf-8')
    table = table.partition('| Argument |')[2].partition('\n\n')[0]
    documented = {
        name
        for row in table.splitlines()[2:]
        for name in re.findall(r'`(\w+)`', row.split('|')[1])
    }
    assert documented == declared
