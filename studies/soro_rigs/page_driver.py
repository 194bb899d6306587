# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A page in headless Chromium, driven over its DevTools protocol: look, take a picture.

Only the browser itself is needed (Debian: apt install chromium), no driver program and no
package beyond the websockets that the viewer uses anyway. The browser runs without a network but
loopback: every host name but localhost is unknown to it, and every request is noted.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
import ctypes
from functools import partial
import json
from pathlib import Path
import shutil
import subprocess
import sys
import tempfile
import time
from typing import Any
from urllib.parse import urlsplit

from soro_mechanics.core.missing_package import import_package
from soro_node.process.parent_death import until_parent_dies

BROWSERS = ('chromium', 'chromium-browser', 'google-chrome', 'chrome')
START = 60.0  # s, for the browser
PATIENCE = 240.0  # s, for a renderer without a GPU
FRAMES = 8
_CAPABILITY_DROP, _CAPABILITY_NICE = 24, 23  # prctl(2) PR_CAPBSET_DROP, capabilities(7)
# Looked up before any fork: between fork and exec nothing may be loaded.
_prctl = ctypes.CDLL(None).prctl if sys.platform == 'linux' else None
LOCAL = ('127.0.0.1', 'localhost', '')
# Software rendering: the pictures look the same on every machine, with or without a GPU.
FLAGS = (
    *"""
--headless=new --no-sandbox --use-angle=swiftshader --enable-unsafe-swiftshader
--ignore-gpu-blocklist --hide-scrollbars --mute-audio --no-first-run
--disable-background-networking --disable-component-update --disable-sync
--disable-default-apps --disable-extensions --disable-domain-reliability
--remote-debugging-port=0
""".split(),
    '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1',
)


def find_browser() -> str | None:
    """Return the path of a Chromium on this machine, or None."""
    return next((path for name in BROWSERS if (path := shutil.which(name))), None)


def _humble(prepare: Callable[[], None]) -> None:
    """End with the parent, and never get ahead of it: without the capability to raise a priority.

    Chromium gives its GPU process a nice value of -8 where it may, as it may for root.
    """
    prepare()
    if _prctl is not None:
        _prctl(_CAPABILITY_DROP, _CAPABILITY_NICE, 0, 0, 0)  # refused to those who lack it anyway


class Page:
    """One page of a browser (path of the program), of a size in pixels.

    `niceness` of the browser, which takes all cores where it renders in software. Above zero it is
    the least of all its processes: Chromium is kept from raising their priority.
    """

    def __init__(
        self, browser: str, address: str, size: tuple[int, int] = (1280, 800), niceness: int = 0
    ) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix='soro-page-', ignore_cleanup_errors=True)
        prepare = until_parent_dies()
        own = f'--user-data-dir={self._folder.name}', f'--window-size={size[0]},{size[1]}'
        self._process = subprocess.Popen(
            ['nice', '-n', str(niceness), browser, *FLAGS, *own, 'about:blank'],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=partial(_humble, prepare) if niceness > 0 else prepare,
        )
        self._number = 0
        self.requests: list[str] = []
        self.problems: list[str] = []
        self._socket: Any = None
        try:
            self._open(address, size)
        except BaseException:
            self.close()  # else the browser would go on
            raise

    def __enter__(self) -> Page:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _open(self, address: str, size: tuple[int, int]) -> None:
        connect = import_package('websockets.sync.client', 'websockets').connect
        self._socket = connect(self._page_socket(), max_size=None)
        for domain in ('Page', 'Runtime', 'Network', 'Log'):
            self.call(f'{domain}.enable')
        self.call(
            'Emulation.setDeviceMetricsOverride',
            width=size[0],
            height=size[1],
            deviceScaleFactor=1,
            mobile=False,
        )
        self.call('Page.navigate', url=address)

    def close(self) -> None:
        """End the browser."""
        if self._socket is not None:
            self._socket.close()
        self._process.terminate()
        try:
            self._process.wait(10.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._folder.cleanup()

    @property
    def strangers(self) -> list[str]:
        """Requests that would have left this machine."""
        return [
            url
            for url in self.requests
            if urlsplit(url).scheme in ('http', 'https', 'ws', 'wss')
            and (urlsplit(url).hostname or '') not in LOCAL
        ]

    def call(self, method: str, **parameters: Any) -> Any:
        """Call a method of the protocol and return its result."""
        self._number += 1
        number = self._number
        self._socket.send(json.dumps({'id': number, 'method': method, 'params': parameters}))
        while True:
            message = json.loads(self._socket.recv(timeout=120.0))
            if message.get('id') == number:
                if 'error' in message:
                    raise RuntimeError(f'{method}: {message["error"]["message"]}')
                return message['result']
            self._note(message)

    def evaluate(self, script: str) -> Any:
        """Return the value of a JavaScript expression."""
        result = self.call(
            'Runtime.evaluate', expression=script, returnByValue=True, awaitPromise=True
        )
        if 'exceptionDetails' in result:
            raise RuntimeError(f'{script[:80]}: {result["exceptionDetails"]}')
        return result['result'].get('value')

    def wait(self, condition: Callable[[], Any], timeout: float, what: str) -> Any:
        """Wait for something on the page, or outside of it."""
        end = time.monotonic() + timeout
        while True:
            value = condition()
            if value:
                return value
            if time.monotonic() > end:
                raise TimeoutError(f'no {what} within {timeout:g} s; {self.problems[-3:]}')
            self.pause(0.1)

    def pause(self, seconds: float) -> None:
        """Let the page draw, and note what it says meanwhile."""
        end = time.monotonic() + seconds
        while (rest := end - time.monotonic()) > 0.0:
            try:
                self._note(json.loads(self._socket.recv(timeout=rest)))
            except TimeoutError:
                return

    def settle(self, frames: int = 12, timeout: float = 60.0) -> None:
        """Wait until so many frames are drawn: a software renderer compiles shaders for long."""
        self.evaluate(
            'window.__frames = 0; (function f() { window.__frames++; requestAnimationFrame(f) })()'
        )
        self.wait(lambda: self.evaluate('window.__frames') >= frames, timeout, 'pictures')

    def open_viewer(self) -> None:
        """Wait until a viewer's page has drawn its robot, and close its notice about the renderer.

        TimeoutError: it draws nothing.
        """
        self.wait(lambda: self.evaluate('!!document.querySelector("canvas")'), PATIENCE, 'canvas')
        self.settle(FRAMES, PATIENCE)
        self.evaluate(
            'document.querySelectorAll(".mantine-Notification-closeButton")'
            '.forEach(b => b.click())'
        )
        self.pause(1.0)
        self.settle(FRAMES, PATIENCE)

    def check(self) -> None:
        """RuntimeError: the page has complained, or asked another machine."""
        if self.strangers or self.problems:
            raise RuntimeError(f'the page says {self.problems} and asks {self.strangers}')

    def picture(self, file: Path) -> None:
        """Save what is shown as PNG."""
        data = self.call('Page.captureScreenshot', format='png')['data']
        file.write_bytes(base64.b64decode(data))

    def _page_socket(self) -> str:
        """Return the address of the page's socket, once the browser has written it down."""
        from urllib.request import urlopen

        port_file, end = Path(self._folder.name) / 'DevToolsActivePort', time.monotonic() + START
        while time.monotonic() < end:
            if self._process.poll() is not None:
                raise RuntimeError(f'the browser ended with {self._process.returncode}')
            lines = port_file.read_text().splitlines() if port_file.exists() else []
            if len(lines) >= 2:
                with urlopen(f'http://127.0.0.1:{lines[0]}/json/list', timeout=10.0) as answer:
                    pages = [p for p in json.load(answer) if p['type'] == 'page']
                if pages:
                    return str(pages[0]['webSocketDebuggerUrl'])
            time.sleep(0.05)
        raise TimeoutError('the browser does not start')

    def _note(self, message: dict[str, Any]) -> None:
        method, content = message.get('method', ''), message.get('params', {})
        if method == 'Network.requestWillBeSent':
            self.requests.append(content['request']['url'])
        elif method == 'Network.webSocketCreated':
            self.requests.append(content['url'])
        elif method == 'Runtime.exceptionThrown':
            self.problems.append(str(content['exceptionDetails'].get('text', '')))
        elif method == 'Log.entryAdded' and content['entry']['level'] == 'error':
            self.problems.append(content['entry']['text'])
