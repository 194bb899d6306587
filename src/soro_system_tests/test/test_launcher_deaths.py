# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A few launchers that end before their time; `make reliability` does it a hundred times."""

from __future__ import annotations

import pytest

from soro_cli.ros_session import RosSession
from soro_studies.system.launcher_deaths import Launchers, runners


@pytest.mark.parametrize('runner', runners())
def test_nothing_is_left_of_a_launch_whose_launcher_is_killed_or_fails(runner, tmp_path):
    with RosSession() as session:
        launchers = Launchers(session, tmp_path)
        for act in (launchers.kill, launchers.kill, launchers.kill, launchers.fail_late):
            death = act(runner)
            assert death.good, death
