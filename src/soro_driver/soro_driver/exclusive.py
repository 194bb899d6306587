# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Old name of `device_lock`, until 0.3."""

import warnings

from soro_driver.safety.device_lock import DeviceLock as ExclusiveUse

__all__ = ['ExclusiveUse']

warnings.warn(
    'soro_driver.exclusive is now soro_driver.safety.device_lock; the old name goes with 0.3',
    FutureWarning,
    stacklevel=2,
)
