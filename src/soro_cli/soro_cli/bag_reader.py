# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Old place of `soro_recording.bag_reader`, until 0.3."""

from soro_mechanics.moved import warn
from soro_recording.bag_reader import BagReader, NotABag, Recorded

__all__ = ['BagReader', 'NotABag', 'Recorded']

warn('soro_cli.bag_reader', 'soro_recording.bag_reader', callers=1)
