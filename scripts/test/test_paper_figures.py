# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The numbers beside a figure are those that were drawn."""

import csv
from pathlib import Path
import re

from matplotlib.figure import Figure
import numpy as np
import paper_figures
import pytest

ROOT = Path(__file__).resolve().parents[2]


def draw(file):
    figure = Figure()
    flat, solid = figure.add_subplot(121), figure.add_subplot(122, projection='3d')
    flat.plot([1.0, 2.0], [3.0, 5.0], label='rising')
    flat.scatter([0.5, 0.7], [0.1, 0.2], c=[10.0, 20.0])
    solid.plot([0.0, 1.0], [2.0, 3.0], [4.0, 5.0])
    figure.savefig(file)


def test_points_of_lines_and_clouds_are_kept_with_their_labels(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(paper_figures.FIGURES, 'akbari-2021', {'drawn': draw})
    assert paper_figures.main(['akbari-2021', '--folder', str(tmp_path)]) == 0
    folder = tmp_path / 'akbari-2021'
    assert {f.name for f in folder.iterdir()} == {'drawn.png', 'drawn.pdf', 'drawn.csv'}
    with (folder / 'drawn.csv').open(encoding='utf-8') as file:
        rows = list(csv.DictReader(file))
    line = [r for r in rows if r['label'] == 'rising']
    assert [(float(r['x']), float(r['y']), r['z']) for r in line] == [(1, 3, ''), (2, 5, '')]
    cloud = [r for r in rows if r['series'] == 'points 0']
    assert [float(r['value']) for r in cloud] == [10.0, 20.0]
    assert np.allclose([[float(r[c]) for c in 'xy'] for r in cloud], [[0.5, 0.1], [0.7, 0.2]])
    solid = [r for r in rows if r['axes'] == '1']
    assert [[float(r[c]) for c in 'xyz'] for r in solid] == [[0, 2, 4], [1, 3, 5]]
    assert '6 points' in capsys.readouterr().out
    assert Figure.savefig is paper_figures.save


@pytest.mark.parametrize('paper', paper_figures.FIGURES)
def test_every_paper_is_one_of_the_references(paper):
    text = (ROOT / 'docs/references.md').read_text(encoding='utf-8').lower()
    assert re.search(rf'^#+ .*{paper.replace("-", " ")}', text, re.MULTILINE)
