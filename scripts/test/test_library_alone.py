# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""`pip install ./src/soro_mechanics` for real, then its README's snippet, without ROS."""

import sysconfig

from library_alone import Newcomer


def test_the_library_installs_alone_and_its_first_answer_waits_for_no_compiler(tmp_path):
    newcomer = Newcomer(tmp_path)
    newcomer.install(sysconfig.get_path('purelib'))
    said = newcomer.use()
    assert 'they are interpreted' in said, said
    assert said.count('[') >= 10, said  # a pose and a compliance
