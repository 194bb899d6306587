# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Old public names: they work until `GONE_WITH`, and warn."""

from functools import partial
from importlib import import_module
from operator import attrgetter
from typing import Any
import warnings

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


def _warn(old: str, new: str, level: int = 3) -> None:
    text = f'{old} is now {new}; the old name goes with {GONE_WITH}'
    warnings.warn(text, DeprecationWarning, stacklevel=level)


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


def renamed_argument(given: dict[str, Any], old: str, new: str) -> Any:
    """Return the value of an argument that a function was given by its old name."""
    for name in given.keys() - {old}:
        raise TypeError(f'got an unexpected keyword argument {name!r}')
    _warn(f'{old}=', f'{new}=', 4)
    return given[old]
