# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Old name of `polled_subscriptions`, until 0.3."""

from soro_mechanics.moved import warn
from soro_node.executor.polled_subscriptions import PolledCallbackGroup as Gate
from soro_node.executor.polled_subscriptions import PolledSubscriptions as Inbox

__all__ = ['Inbox', 'Gate']

warn('soro_node.inbox', 'soro_node.executor.polled_subscriptions', callers=1)
