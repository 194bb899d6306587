# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What is not installed is named, with where it comes from."""

import subprocess
import sys

import pytest

from soro_mechanics.core.errors import MissingPackage
from soro_mechanics.core.missing_package import import_package


def test_without_numba_the_error_says_where_it_comes_from():
    code = 'import sys; sys.modules["numba"] = None; import soro_mechanics'
    result = subprocess.run(
        [sys.executable, '-c', code], capture_output=True, text=True, timeout=60
    )
    assert result.returncode == 1
    last = result.stderr.strip().splitlines()[-1]
    assert "No module named 'numba'" in last
    assert "pip install 'numba'" in last


def test_a_package_is_returned_or_named_with_its_requirement():
    assert import_package('math', 'math').pi > 3.0
    with pytest.raises(MissingPackage, match=r"not_there.*pip install 'not-there==1\.0'"):
        import_package('not_there', 'not-there==1.0')
