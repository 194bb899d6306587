# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""How the middleware is set in every process of this workspace.

Fast DDS 3 asks every process that it finds how its messages are made. Nobody here wants the
answers, ROS 2 compares its own hashes; but the thread that takes them crashes now and then while
several processes start (``TypeLookupManager::notify_callbacks``, seen with 3.2.2), and the node
with it. Without that service a process has three threads less.
"""

from __future__ import annotations

import os
from pathlib import Path

PROFILE = Path(__file__).with_name('fastdds_profile.xml')
# The second is the older name of the first, which Fast DDS still knows.
VARIABLES = ('FASTDDS_DEFAULT_PROFILES_FILE', 'FASTRTPS_DEFAULT_PROFILES_FILE')


def set_middleware() -> None:
    """Name our profile to Fast DDS, unless the user names one; call before a context is made."""
    if not any(name in os.environ for name in VARIABLES):
        os.environ[VARIABLES[0]] = str(PROFILE)
