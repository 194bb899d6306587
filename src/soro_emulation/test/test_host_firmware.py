# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Reference firmware where it cannot be built."""

import pytest

from soro_emulation.host_firmware import build
from soro_mechanics.core.errors import MissingPackage


def test_a_compiler_that_cannot_be_run_is_named_with_a_remedy(tmp_path, monkeypatch):
    compiler = tmp_path / 'cc'
    compiler.write_text('no program')
    compiler.chmod(0o755)
    monkeypatch.setenv('CC', str(compiler))
    with pytest.raises(MissingPackage, match='cc cannot be run: Exec format error; install a C'):
        build('soro_can_driver', tmp_path)
