# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The rule against running what is read finds it, and nothing else."""

from pathlib import Path
import sys

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import unsafe_calls  # noqa: E402


@pytest.mark.parametrize(
    'text',
    [
        'eval(x)',
        'exec("a")',
        'import pickle',
        'from pickle import loads',
        'import os\nos.system(x)',
        'subprocess.run(x, shell=True)',
        'subprocess.run(x, shell=flag)',
        'yaml.load(x)',
        'yaml.load(x, Loader=yaml.SafeLoader)',
        'class A(yaml.Loader): pass',
        'yaml.unsafe_load(x)',
        'np.load(x, allow_pickle=True)',
        'tempfile.mktemp()',
        's.bind(("0.0.0.0", 1))',
        'server.add_insecure_port("[::]:50")',
    ],
)
def test_what_runs_what_it_reads_is_found(text):
    assert len(list(unsafe_calls.check(text))) == 1


def test_what_is_safe_passes():
    text = '\n'.join(
        [
            'yaml.safe_load(x)',
            'subprocess.run([x])',
            'subprocess.run([x], shell=False)',
            'np.load(x, allow_pickle=False)',
            'class A(yaml.SafeLoader): pass',
            're.compile(x)',
            's.bind(("127.0.0.1", 1))',
            'model.eval(x)',
        ]
    )
    assert list(unsafe_calls.check(text)) == []
