# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Old place of `soro_recording.bag_reader`, until 0.3."""

import warnings

from soro_recording.bag_reader import BagReader, NotABag, Recorded

__all__ = ['BagReader', 'NotABag', 'Recorded']

warnings.warn(
    'soro_cli.bag_reader is now soro_recording.bag_reader; the old name goes with 0.3',
    FutureWarning,
    stacklevel=2,
)
