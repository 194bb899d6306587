#!/usr/bin/env python3
# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A picture of what a demo has recorded, in the browser viewer: viewer.png beside the report.

python scripts/photograph_demo.py stiff_flop

Takes the arguments of `soro demo`, which has run before (`make demo` does both). The robot is
stopped by then: a browser without a GPU takes all of the processor. Needs Chromium.
"""

from __future__ import annotations

import argparse
from pathlib import Path
import sys
import threading

from websockets.exceptions import WebSocketException

from soro_cli.tables import note
from soro_cli.verbs.demo import add_arguments, output_folder, PICTURE
from soro_cli.view_session import shown_recording
from soro_node.user_errors import UserError
from soro_rigs.page_driver import find_browser, Page

SIZE, PLAYER_SIZE = (1280, 860), (1280, 720)
FAILURES = (UserError, OSError, RuntimeError, WebSocketException)


def main(words: list[str] | None = None) -> int:
    """Take the picture, or say why there is none; the demo itself has done well either way."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else '')
    add_arguments(parser)
    folder = output_folder(parser.parse_args(words))
    picture, browser = folder / PICTURE, find_browser()
    picture.unlink(missing_ok=True)
    if browser is None:
        note(f'no {picture}: there is no Chromium on this computer (apt-get install chromium)')
        return 0
    note(f'picture of the recording in the browser viewer, in up to some minutes: {picture}')
    try:
        photograph_recording(browser, folder / 'bag', picture)
    except FAILURES as error:
        picture.unlink(missing_ok=True)
        note(f'no {picture}: {error}')
    return 0


def photograph_recording(browser: str, bag: Path, file: Path) -> None:
    """Save what the viewer shows in the middle of a recording.

    UserError: nothing in the recording can be shown. OSError, RuntimeError, WebSocketException:
    the browser does not start or draw, the page complains or asks another machine.
    """
    ended = threading.Event()
    with shown_recording(bag, None, '', 0) as playback:
        playback.pause_at(0.5 * playback.duration)
        player = threading.Thread(target=playback.run, args=(ended,), daemon=True)
        player.start()
        try:
            with Page(browser, playback.address, SIZE) as page:
                page.open_viewer()
                page.picture(file)
                page.check()
        finally:
            ended.set()
            player.join()


def photograph_player(browser: str, player: Path, file: Path) -> None:
    """Save what a player, which is a page of its own, shows in the middle of its recording."""
    with Page(browser, f'{player.resolve().as_uri()}#middle', PLAYER_SIZE) as page:
        page.settle()
        page.picture(file)
        page.check()


if __name__ == '__main__':
    sys.exit(main())
