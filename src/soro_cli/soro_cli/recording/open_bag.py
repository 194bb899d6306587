# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Opens a recording for a verb: what is wrong with it becomes one line for a person."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from soro_cli.bag_reader import BagReader, NotABag
from soro_cli.errors import CliError
from soro_cli.recording.mcap_format import BadRecord


@contextmanager
def open_bag(path: Path) -> Iterator[BagReader]:
    """Open a recording.

    Raises
    ------
    CliError
        There is none, or it is damaged.
    """
    try:
        with BagReader(path) as bag:
            yield bag
    except NotABag as error:
        raise CliError(str(error)) from None
    except BadRecord as error:
        raise CliError(f'{path} is damaged: {error}') from None
    except OSError as error:
        raise CliError(f'{path} cannot be read: {error.strerror or error}') from None
