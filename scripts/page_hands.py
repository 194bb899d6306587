# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A page in headless Chromium with mouse and keyboard."""

from __future__ import annotations

from soro_rigs.page_driver import Page


class HandledPage(Page):
    """A page that can be clicked at, dragged in and typed into."""

    def resize(self, width: int, height: int, scale: float = 1.0) -> None:
        """Give the page another size in CSS pixels, each of `scale` of the screen's."""
        size = {'width': width, 'height': height, 'deviceScaleFactor': scale, 'mobile': False}
        self.call('Emulation.setDeviceMetricsOverride', **size)

    def mouse(self, kind: str, x: float, y: float, pressed: bool = False) -> None:
        """Send a mouse event: mouseMoved, mousePressed or mouseReleased."""
        button = 'left' if pressed or kind != 'mouseMoved' else 'none'
        self.call(
            'Input.dispatchMouseEvent',
            type=kind,
            x=x,
            y=y,
            button=button,
            buttons=1 if pressed else 0,
            clickCount=0 if kind == 'mouseMoved' else 1,
            pointerType='mouse',
        )

    def click(self, x: float, y: float) -> None:
        """Press and release at a point."""
        self.mouse('mouseMoved', x, y)
        self.mouse('mousePressed', x, y, True)
        self.mouse('mouseReleased', x, y)

    def drag(self, start: tuple[float, float], end: tuple[float, float], steps: int = 12) -> None:
        """Press, move in steps, release; a hand rests a moment before it grasps."""
        self.mouse('mouseMoved', *start)
        self.pause(0.4)
        self.mouse('mousePressed', *start, True)
        for i in range(1, steps + 1):
            x, y = (a + (b - a) * i / steps for a, b in zip(start, end, strict=True))
            self.mouse('mouseMoved', x, y, True)
            self.pause(0.1)
        self.pause(0.3)
        self.mouse('mouseReleased', *end)

    def key(self, name: str, code: int) -> None:
        """Press and release a key."""
        for kind in ('rawKeyDown', 'keyUp'):
            self.call(
                'Input.dispatchKeyEvent',
                type=kind,
                key=name,
                code=name,
                windowsVirtualKeyCode=code,
            )

    def place_of(self, script: str) -> tuple[float, float]:
        """Return the middle of the element that a JavaScript expression gives."""
        box = self.evaluate(
            f'(() => {{ const e = {script}; if (!e) return null; '
            'e.scrollIntoView({block: "center"}); const b = e.getBoundingClientRect(); '
            'return [b.x + b.width / 2, b.y + b.height / 2] })()'
        )
        if box is None:
            raise LookupError(f'nothing on the page is {script}')
        return box[0], box[1]
