# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What had another place in the last release is found there too, with a warning."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points
import sys

import pytest

from soro_recording import bag_reader, recorder_main


def test_the_reader_of_bags():
    sys.modules.pop('soro_cli.bag_reader', None)
    with pytest.warns(FutureWarning, match='is now soro_recording.bag_reader; .* with 0.3'):
        old = import_module('soro_cli.bag_reader')
    assert old.BagReader is bag_reader.BagReader and old.NotABag is bag_reader.NotABag


@pytest.mark.parametrize('package', ['soro_cli', 'soro_recording'])
def test_the_executable_of_the_recorder(package):
    mains = [
        point.load()
        for point in entry_points(group='console_scripts', name='recorder')
        if point.dist.name.replace('-', '_') == package
    ]
    assert mains == [recorder_main.main]
