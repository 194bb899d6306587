# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A picture of the browser viewer of a robot that runs, where a Chromium is installed.

A browser without a GPU renders on the processor and takes what it gets, so it runs at the lowest
priority; on a small computer it may still cost the robot its real time. Nothing is downloaded: the
page comes from the viewer, and the browser knows no host but this one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
import contextlib
from pathlib import Path
import re
import threading
import time

from soro_cli.page_driver import Page
from soro_node.user_errors import UserError

ADDRESS = re.compile(r'viewer: (http://\S+)')
SIZE = (1280, 860)
NICENESS = 19
LOOK = 20.0  # s, for the compliance at the tip
PATIENCE = 240.0  # s, for a renderer without a GPU on a busy computer
FRAMES, TRIES = 8, 4
BOX = 'document.querySelector("input[aria-label=\'compliance ellipsoids\']")'
DRAWN = 'document.body.innerText.includes("ellipsoids: where")'  # the legend
CANVAS = '!!document.querySelector("canvas")'
# Buttons of the notice about software rendering.
CLOSE_NOTICES = (
    'document.querySelectorAll(".mantine-Notification-closeButton").forEach(b => b.click())'
)
WITHOUT = (
    'none: there is no Chromium on this computer (Debian: apt-get install chromium); any browser '
    'shows the same with soro launch {robot} viewer:=true'
)


def viewer_address(output: str) -> str:
    """Return the address that a launch has printed; UserError: none."""
    found = ADDRESS.search(output)
    if found is None:
        raise UserError('the launch has not said where its viewer is')
    return found.group(1)


def photograph_viewer(
    browser: str, address: str, file: Path, pose: Callable[[], None], held: Callable[[], bool]
) -> tuple[int, bool]:
    """Save what the viewer at an address shows of a running robot, as PNG.

    Opening the page costs most (shaders are compiled); what the robot does meanwhile is its
    affair. Then `pose` brings it into its posture and the picture is taken, again while it has not
    `held` that. Returns how many requests the page made, and whether the robot held still.

    UserError: the browser does not start or draw, the page complains, or asks another machine.
    """
    with told(browser), Page(browser, address, SIZE, NICENESS) as page:
        return _draw(page, file, pose, held, _show_ellipsoids)


def photograph_recording(browser: str, bag: Path, namespace: str, file: Path) -> int:
    """Save what the viewer shows in the middle of a recording; how many requests that made.

    UserError: as `photograph_viewer`; or nothing in the recording can be shown.
    """
    from soro_cli.view_session import shown_recording

    ended = threading.Event()
    with shown_recording(bag, namespace, '', 0) as playback:
        playback.pause_at(0.5 * playback.duration)
        player = threading.Thread(target=playback.run, args=(ended,), daemon=True)
        player.start()
        try:
            with told(browser), Page(browser, playback.address, SIZE, NICENESS) as page:
                return _draw(page, file, lambda: None, lambda: True)[0]
        finally:
            ended.set()
            player.join()


def _draw(
    page: Page,
    file: Path,
    pose: Callable[[], None],
    held: Callable[[], bool],
    prepare: Callable[[Page], None] = lambda page: None,
) -> tuple[int, bool]:
    page.wait(lambda: page.evaluate(CANVAS), PATIENCE, 'canvas')
    page.settle(FRAMES, PATIENCE)
    page.evaluate(CLOSE_NOTICES)
    prepare(page)
    end = time.monotonic() + PATIENCE
    for _ in range(TRIES):
        pose()
        page.pause(1.0)
        page.settle(FRAMES, PATIENCE)
        page.picture(file)
        still = held()
        if still or time.monotonic() > end:
            break
    if page.strangers or page.problems:
        raise UserError(f'the page says {page.problems} and asks {page.strangers}')
    return len(page.requests), still


@contextlib.contextmanager
def told(browser: str) -> Iterator[None]:
    """Turn what a browser does wrong into a UserError."""
    from websockets.exceptions import WebSocketException

    try:
        yield
    except (OSError, RuntimeError, WebSocketException) as error:
        raise UserError(f'{Path(browser).name}: {error}') from None


def _show_ellipsoids(page: Page) -> None:
    """Switch the compliance ellipsoids on; a picture is one without them too."""
    with contextlib.suppress(TimeoutError):
        page.wait(lambda: page.evaluate(f'!!{BOX}'), LOOK, 'panel')
        page.evaluate(f'{BOX}.click()')
        page.wait(lambda: page.evaluate(DRAWN), LOOK, 'ellipsoids')
