# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Old name of `polled_subscriptions`, until 0.3."""

import warnings

from soro_node.executor.polled_subscriptions import PolledCallbackGroup as Gate
from soro_node.executor.polled_subscriptions import PolledSubscriptions as Inbox

__all__ = ['Inbox', 'Gate']

warnings.warn(
    'soro_node.inbox is now soro_node.executor.polled_subscriptions; the old name goes with 0.3',
    FutureWarning,
    stacklevel=2,
)
