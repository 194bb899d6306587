# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""However a file of schema 1 is written, its upgrade keeps comments, origins and numbers."""

from __future__ import annotations

from pathlib import Path
import re

import pytest
import yaml

from soro_mechanics.robot_file.reader import OldSchema, read_robot_file
from soro_mechanics.robot_file.schema2.round_trip import comments
from soro_mechanics.robot_file.schema2.upgrade import differences, upgrade

SCHEMA_1 = Path(__file__).parent / 'schema1'
ROBOTS = ('spatial_cc', 'soft_parallel', 'stewart_gough', 'stiff_flop_two_segment')
PLAIN = r'(-?[\d.]+(?:e-?\d+)? [a-zA-Z/^0-9 ]+?)'


def behind_every_line(text: str) -> str:
    free = re.compile(r'[^#\'"]*[^#\'"\s|>]$')
    lines = text.splitlines()
    return (
        '\n'.join(
            f'{line}  # mark {i}: ünï, [x: {{y}}]' if free.match(line) else line
            for i, line in enumerate(lines)
        )
        + '\n# the last\n'
    )


def above_every_line(text: str) -> str:
    return re.sub(r'(?m)^( *)(?=-|\w+:)', lambda m: f'{m[1]}# above {m.start()}\n{m[1]}', text)


def dumped(flow: bool):
    return lambda text: yaml.safe_dump(
        yaml.safe_load(text),
        default_flow_style=flow,
        sort_keys=False,
        allow_unicode=True,
        width=10**6,
    )


def backwards(text: str) -> str:
    data = yaml.safe_load(text)
    return yaml.safe_dump(dict(reversed(data.items())), sort_keys=False, allow_unicode=True)


STYLES = {
    'comments behind': behind_every_line,
    'comments above': above_every_line,
    'flow': dumped(True),
    'block': dumped(False),
    'backwards': backwards,
    'quoted': lambda t: re.sub(rf'(?m)(: ){PLAIN}(?=,|}}|$)', r'\1"\2"', t),
    'origins': lambda t: re.sub(
        rf'(?m)^(\s+)(\w+): {PLAIN}$',
        r"\1\2: {value: \3, source: measured, note: 'by hand: # 3'}",
        t,
    ),
    'anchors': lambda t: re.sub(
        rf'(?m)(radius: ){PLAIN}$', lambda m: f'{m[1]}&a{m.start()} {m[2]}', t
    ),
    'windows': lambda t: t.replace('\n', '\r\n'),
    'unicode': lambda t: re.sub(r'(?m)^title: .*$', 'title: "Röbötér — \U0001f916"', t),
    'byte order mark': lambda t: '\ufeff' + t,
    'document marks': lambda t: '---\n' + t + '...\n',
}


@pytest.mark.parametrize('style', STYLES)
@pytest.mark.parametrize('robot', ROBOTS)
def test_comments_survive_and_numbers_are_equal(tmp_path, robot, style):
    text = (SCHEMA_1 / f'{robot}.yaml').read_text(encoding='utf-8')
    file = tmp_path / f'{robot}.yaml'
    file.write_bytes(STYLES[style](text).encode())
    with pytest.warns(OldSchema):
        old = read_robot_file(file)
    before = file.read_text(encoding='utf-8').lstrip('\ufeff')
    upgrade(file).document.save(file)
    new = read_robot_file(file)
    for name in ('name', 'title', 'reference', 'gravity', 'actuators', 'coupled_limits', 'models'):
        assert not differences(getattr(old, name), getattr(new, name), name)
    for section, structure in old.structure.items():
        found = differences(structure, new.structure[section], section)
        assert all(size < 1e-4 for *_, size in found), found  # rounded copies
    assert new.foreign.get('driver') == old.foreign.get('driver')
    after = comments(file.read_text(encoding='utf-8').lstrip('\ufeff'))
    assert sorted(after) == sorted(comments(before))
    assert {o.source for o in old.origins} == {o.source for o in new.origins}
