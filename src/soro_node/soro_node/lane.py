# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Old name of `worker_queue`, until 0.3."""

import warnings

from soro_node.executor.worker_queue import WorkerQueue as Lane

__all__ = ['Lane']

warnings.warn(
    'soro_node.lane is now soro_node.executor.worker_queue; the old name goes with 0.3',
    FutureWarning,
    stacklevel=2,
)
