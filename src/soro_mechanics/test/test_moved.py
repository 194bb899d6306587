# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Old names of modules lead to the new ones, with a warning."""

import importlib
import subprocess
import sys

import numpy as np
import pytest

from soro_mechanics import load_robot, moved


@pytest.mark.parametrize('old', sorted(moved.MOVED))
def test_every_old_name_is_the_new_module(old):
    new = importlib.import_module(moved.MOVED[old])
    spec = new.__spec__
    sys.modules.pop(old, None)
    with pytest.warns(FutureWarning, match=moved.MOVED[old]):
        assert importlib.import_module(old) is new
    assert new.__spec__ is spec
    del sys.modules[old]


def test_names_of_modules_that_are_packages_now():
    code = (
        'import warnings; warnings.simplefilter("error", FutureWarning)\n'
        'import soro_mechanics.robot_file as r\n'
        'try: r.read_robot_file\n'
        'except FutureWarning as w: print(w)\n'
        'warnings.simplefilter("ignore")\n'
        'from soro_mechanics.robot_file import read_robot_file\n'
        'from soro_mechanics.network.equilibrium import solve\n'
        'try: r.nothing\n'
        'except AttributeError as e: print(e)\n'
    )
    done = subprocess.run(
        [sys.executable, '-c', code], capture_output=True, text=True, check=False
    )
    assert 'is now soro_mechanics.robot_file.reader.read_robot_file' in done.stdout, done.stderr


def test_old_names_of_the_inverse_do_what_they_did():
    stewart = load_robot('stewart_gough')
    target = stewart.forward([a.rest for a in stewart.actuators]).tip[:3, 3]
    with pytest.warns(FutureWarning, match='multistart; the old name goes with 0.3') as said:
        found = stewart.inverse(target, elsewhere=False)
    assert said[0].filename == __file__
    np.testing.assert_array_equal(
        found.actuation, stewart.inverse(target, multistart=False).actuation
    )
    with pytest.warns(FutureWarning, match='precompute_seeds') as said:
        stewart.prepare_inverse()
    assert said[0].filename == __file__
