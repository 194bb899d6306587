# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The notebooks run from top to bottom, without Jupyter; what they claim, they assert."""

import json
from pathlib import Path

from matplotlib import pyplot
import pytest

NOTEBOOKS = sorted(Path(__file__).resolve().parents[1].glob('notebooks/*.ipynb'))
LONGEST = 45  # lines of a cell


@pytest.mark.parametrize('file', NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_runs(file, monkeypatch, tmp_path):
    monkeypatch.setattr('matplotlib.pyplot.show', lambda *args, **options: None)
    monkeypatch.chdir(tmp_path)
    names = {'__name__': '__main__'}
    for cell in cells(file, 'code'):
        exec(compile(''.join(cell['source']), f'{file.name}, {cell["id"]}', 'exec'), names)
    drawn = pyplot.get_fignums()
    pyplot.close('all')
    assert drawn or 'found' in names  # a fit reports numbers


@pytest.mark.parametrize('file', NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_is_short_begins_with_a_title_and_holds_no_results(file):
    first = cells(file, 'markdown')[0]
    assert first['source'][0].startswith('# ')
    for cell in cells(file, 'code'):
        assert (cell['outputs'], cell['execution_count']) == ([], None)
        assert len(cell['source']) <= LONGEST
    assert any('assert ' in line for cell in cells(file, 'code') for line in cell['source'])


def cells(file, kind):
    """Return the cells of one kind."""
    everything = json.loads(file.read_text(encoding='utf-8'))
    assert everything['nbformat'] == 4
    return [cell for cell in everything['cells'] if cell['cell_type'] == kind]
