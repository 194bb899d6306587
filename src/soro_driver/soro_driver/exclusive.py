# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Old name of `device_lock`, until 0.3."""

from soro_driver.safety.device_lock import DeviceLock as ExclusiveUse
from soro_mechanics.moved import warn

__all__ = ['ExclusiveUse']

warn('soro_driver.exclusive', 'soro_driver.safety.device_lock', callers=1)
