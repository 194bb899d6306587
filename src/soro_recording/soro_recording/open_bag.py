# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Opens a recording for a verb; what is wrong with it becomes one line for a person."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from soro_node.file_errors import reading
from soro_node.user_errors import UserError
from soro_recording.bag_reader import BagReader, NotABag, Recorded
from soro_recording.mcap_format import BadRecord


class _Bag(BagReader):
    """A bag that cannot be read on says so itself: other failures have other causes."""

    def messages(self, *arguments: Any, **named: Any) -> Iterator[Recorded]:
        with reading(self.path):
            yield from super().messages(*arguments, **named)


@contextmanager
def open_bag(path: Path) -> Iterator[BagReader]:
    """Open a recording.

    UserError: there is none, it is damaged, or it cannot be read. What else fails meanwhile (a
    figure that cannot be written) is left as it is.
    """
    try:
        with reading(path):
            opened = _Bag(path)
        with opened as bag:
            yield bag
    except NotABag as error:
        raise UserError(str(error)) from None
    except BadRecord as error:
        raise UserError(f'{path} is damaged: {error}') from None


def default_folder(kind: str, bag: BagReader, namespace: str) -> Path:
    """Return ``out/<kind>/<bag>``, of a bag of several robots ``out/<kind>/<bag>/<namespace>``."""
    path = bag.path.resolve()
    # The name of a folder has no suffix, whatever dots are in it (p0.5bar).
    name = path.name if path.is_dir() else path.name.removesuffix('.mcap')
    folder = Path('out') / kind / name
    return folder / namespace.strip('/') if len(bag.namespaces) > 1 else folder
