# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Old name of `worker_queue`, until 0.3."""

from soro_mechanics.moved import warn
from soro_node.executor.worker_queue import WorkerQueue as Lane

__all__ = ['Lane']

warn('soro_node.lane', 'soro_node.executor.worker_queue', callers=1)
