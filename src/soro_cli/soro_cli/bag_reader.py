# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Old name of `soro_recording.bag_reader`."""

from functools import partial

from soro_mechanics.core.old_names import renamed

__getattr__ = partial(renamed, __name__)
