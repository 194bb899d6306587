# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What `make soak` keeps of its robots' runs, with processes that are only pretended."""

from __future__ import annotations

import json

import pytest
from soak_samples import raw_of

from soro_studies.system import soak, soak_page
from soro_studies.system.soak_results import stored

ROBOTS = ['pam_continuum', 'spatial_cc', 'stiff_flop']
PAGE = '# Reliability\n\n## Soak\n\nOld table.\n\n## Fault matrix\n\nOld matrix.\n'


class Pretended:
    """A process that has ended, or that ends when it is told to, with a result or without."""

    def __init__(self, name, file, lasted, arguments):
        self._file, self._lasted = file, lasted
        self._raw = raw_of(name, lasted or 0.0, **soak.run_of(arguments))
        self.returncode = int(lasted is None)

    def poll(self):
        self.terminate()
        return self.returncode

    def terminate(self):
        if self._lasted is not None:
            self._file.write_text(json.dumps(self._raw))

    def wait(self, timeout):
        return self.returncode


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Return a function that soaks; it is told how many minutes every robot lasts, or None."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(soak, 'robots', lambda: ROBOTS)
    monkeypatch.setattr(soak.signal, 'signal', lambda *_: None)
    monkeypatch.setattr(soak_page, 'draw', lambda *_: None)
    (tmp_path / 'docs/evidence').mkdir(parents=True)
    (tmp_path / 'docs/evidence/reliability.md').write_text(PAGE)

    def main(words, lasted, interrupted_at=''):
        def start(name, number, arguments, file):
            if name == interrupted_at:
                raise KeyboardInterrupt
            return Pretended(name, file, lasted[name], arguments)

        monkeypatch.setattr(soak, 'start', start)
        code = soak.main(words.split())
        return code, (tmp_path / 'docs/evidence/reliability.md').read_text()

    return main


def test_robots_that_run_one_after_the_other_come_together(run):
    code, text = run('--robots stiff_flop', {'stiff_flop': 30.1})
    assert code == 0 and 'Not run: pam_continuum, spatial_cc.' in text
    assert 'Old table.' not in text and text.endswith('## Fault matrix\n\nOld matrix.\n')
    words = '--robots spatial_cc,pam_continuum --minutes 20 --together 3 --seed 5'
    code, text = run(words, {'spatial_cc': 20.4, 'pam_continuum': 20.5})
    assert code == 0 and 'Not run' not in text
    assert list(stored()) == ROBOTS
    assert '(soak/stiff_flop.json) | 2026-11-20 | 30.1 min | 1 | 1 |' in text
    assert '(soak/spatial_cc.json) | 2026-11-20 | 20.4 min | 5 | 2 |' in text  # two, not three


def test_another_file_for_the_result_leaves_the_documents_alone(run, tmp_path):
    code, text = run('--result try/raw.json --robots stiff_flop', {'stiff_flop': 30.1})
    assert code == 0 and text == PAGE and not stored()
    whole = json.loads((tmp_path / 'try/raw.json').read_text())
    assert len(whole['robots'][0]['samples']) > 900
    assert whole['missing'] == []
    code, text = run('--take try/raw.json', {})
    assert code == 0 and list(stored()) == ['stiff_flop'] and '| 30.1 min |' in text


def test_a_short_run_is_stored_only_when_asked(run, capsys):
    run('--robots stiff_flop', {'stiff_flop': 30.1})
    words = '--minutes 2 --robots stiff_flop'
    code, text = run(words, {'stiff_flop': 2.2})
    assert code == 0 and '| 30.1 min |' in text
    said = capsys.readouterr().out
    assert (
        'docs/evidence/soak/stiff_flop.json stays, 30.1 min of 2026-11-20: this run was 2.2 min'
        in said
    )
    again = '--take out/soak/stiff_flop.json --robots stiff_flop --replace'
    assert again in said
    assert run('--take out/soak/soak.json', {})[0] == 1
    assert '| 2.2 min |' in run(again, {})[1]
    assert '| 30.1 min |' in run('--robots stiff_flop', {'stiff_flop': 30.1})[1]
    assert '| 2.2 min |' in run(f'{words} --replace', {'stiff_flop': 2.2})[1]


def test_what_ran_before_an_interruption_is_kept(run, tmp_path):
    lasted = {'pam_continuum': 16.0, 'spatial_cc': 30.0, 'stiff_flop': 30.0}
    run('', lasted)  # raw files of before must not be taken for those of the next run
    words = '--seed 2 --together 2'
    code, text = run(words, lasted, interrupted_at='spatial_cc')
    assert code == 1
    assert {name: r['seed'] for name, r in stored().items()} == {
        'pam_continuum': 2,
        'spatial_cc': 1,
        'stiff_flop': 1,
    }
    assert '(soak/pam_continuum.json) | 2026-11-20 | 16.0 of 30 min | 2 | 2 |' in text
    assert 'left no figures' not in text
    whole = json.loads((tmp_path / 'out/soak/soak.json').read_text())
    assert whole['missing'] == ['spatial_cc', 'stiff_flop']


def test_a_robot_that_leaves_no_figures_is_named(run):
    code, text = run('--robots stiff_flop', {'stiff_flop': None})
    assert code == 1 and text == PAGE  # nothing to write yet, the old table stays
    code, text = run('--robots spatial_cc', {'spatial_cc': 30.0})
    assert code == 0 and '\nstiff_flop: its last run, ' in text
    assert 'Not run: pam_continuum.' in text


def test_the_section_is_written_anew_from_what_is_stored(run, tmp_path):
    text = run('--robots stiff_flop', {'stiff_flop': 30.1})[1]
    (tmp_path / 'docs/evidence/reliability.md').write_text(PAGE)
    assert run('--page', {}) == (0, text)


def test_a_robot_that_is_none_is_refused(run, tmp_path):
    with pytest.raises(SystemExit, match='no such robot: stif_flop; there are: pam_continuum'):
        run('--robots stif_flop', {})
    assert not (tmp_path / 'out').exists()
