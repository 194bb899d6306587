# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Tables of pages follow the code that they are made from."""

from pathlib import Path

import generated_tables
import pytest

from soro_mechanics.robot_file.schema2 import tables
from soro_mechanics.robot_file.schema2.key import named, need, q, rows, table, text, Variants

ROOT = Path(__file__).resolve().parents[2]
POINT = {'at': need(q('m', 'from the base', size=3))}
ROBOT = {
    'name': need(text()),
    'joint': text('clamped', 'free'),
    'drive': rows(Variants('kind', {'air': {'top': q('Pa')}, 'wire': {'top': q('N')}})),
    'load': table(Variants('by', {'hand': {'tip': table(POINT)}, 'rope': {'knot': table(POINT)}})),
    'bodies': named(POINT),
}


@pytest.fixture
def keys(monkeypatch):
    monkeypatch.setattr(tables, 'TOP', ROBOT)
    return generated_tables.renewed('<!-- table: keys -->\n<!-- end of the table -->\n')


def test_every_node_has_the_table_of_its_parameters():
    for page in (ROOT / 'docs/nodes').glob('*.md'):
        found = [m[2] for m in generated_tables.BLOCK.finditer(page.read_text())]
        assert found == ['parameters'], page.name


def test_a_row_says_unit_choices_and_what_is_needed(keys):
    assert '## The file\n\n- **`name`** text\n' in keys
    assert '- `joint` `clamped`, `free`\n' in keys
    assert '## `load.tip`, by `hand`\n\n- **`at`** 3 x m: from the base\n' in keys


def test_variants_that_differ_in_units_are_one_table(keys):
    assert '## `drive[]`\n\n- **`kind`** `air`, `wire`\n- `top` Pa or N\n' in keys


def test_a_mapping_that_stands_in_several_places_is_printed_once(keys):
    assert keys.count('`at`') == 1
    for place in ('## `load.knot`, by `rope`', '## `bodies.<name>`'):
        assert f'{place}\n\nLike `load.tip`.\n' in keys


def test_a_table_that_is_older_than_the_code_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(generated_tables, 'ROOT', tmp_path)
    page = tmp_path / 'docs/nodes/driver.md'
    page.parent.mkdir(parents=True)
    page.write_text((ROOT / 'docs/nodes/driver.md').read_text())
    assert list(generated_tables.check([page])) == []
    page.write_text(page.read_text().replace('| `autostart` | bool |', '| `autostart` | int |'))
    (said,) = generated_tables.check([page])
    assert said.startswith('docs/nodes/driver.md: a table is older than the code')
    generated_tables.main()
    assert list(generated_tables.check([page])) == []
    assert page.read_text() == (ROOT / 'docs/nodes/driver.md').read_text()
