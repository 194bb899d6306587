# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Old public names: they work until `GONE_WITH`, and warn."""

from collections.abc import Callable
from functools import partial, wraps
from importlib import import_module
from operator import attrgetter
from typing import Any, TypeVar
import warnings

F = TypeVar('F', bound=Callable[..., Any])
GONE_WITH = '1.0'
NEW_NAMES = {
    'Robot.prepare_inverse': 'Robot.precompute_seeds',
    'Robot.natural_frequencies': 'Robot.network.natural_frequencies',
    'Robot.validity': 'Robot.network.validity',
    'Robot.sensitivity': 'Robot.network.sensitivity',
    'soro_cli.bag_reader.BagReader': 'soro_recording.bag_reader.BagReader',
    'soro_cli.bag_reader.NotABag': 'soro_recording.bag_reader.NotABag',
    'soro_driver.exclusive.ExclusiveUse': 'soro_driver.safety.device_lock.DeviceLock',
    'soro_node.inbox.Gate': 'soro_node.executor.polled_subscriptions.PolledCallbackGroup',
    'soro_node.inbox.Inbox': 'soro_node.executor.polled_subscriptions.PolledSubscriptions',
    'soro_node.lane.Lane': 'soro_node.executor.worker_queue.WorkerQueue',
}


def _warn(old: str, new: str) -> None:
    text = f'{old} is now {new}; the old name goes with {GONE_WITH}'
    warnings.warn(text, DeprecationWarning, stacklevel=3)


def renamed(place: str, name: str, owner: Any = None) -> Any:
    """Return what an old name stands for: a module's `__getattr__`, or of a class's object."""
    old = f'{place}.{name}'
    if old not in NEW_NAMES:
        raise AttributeError(f'there is no {old}')
    new = NEW_NAMES[old]
    _warn(old, new)
    if owner is not None:
        return attrgetter(new.removeprefix(f'{place}.'))(owner)
    module, _, attribute = new.rpartition('.')
    return getattr(import_module(module), attribute)


def offer_old_names(kind: type) -> None:
    """Have the objects of a class answer to their old names."""
    for place, _, name in (old.rpartition('.') for old in NEW_NAMES):
        if place == kind.__name__:
            setattr(kind, name, property(partial(renamed, place, name)))


def argument_renamed(old: str, new: str) -> Callable[[F], F]:
    """Let a function take an argument by its old name too."""

    def taking(function: F) -> F:
        @wraps(function)
        def called(*positional: Any, **named: Any) -> Any:
            if old in named:
                _warn(f'{old}=', f'{new}=')
                named[new] = named.pop(old)
            return function(*positional, **named)

        return called  # type: ignore[return-value]

    return taking
