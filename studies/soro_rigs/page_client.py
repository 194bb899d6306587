# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A page without a browser, for tests: speaks the viewer's websocket as the real page does.

It receives what the page would draw and sends what hands would do: move a slider, press a button,
drag the gizmo. What a browser makes of it (pixels) is not seen here.
"""

from __future__ import annotations

from collections.abc import Callable
import time
from typing import Any
from urllib.request import urlopen

import msgspec.msgpack
import numpy as np
import viser
from viser import _messages as messages
from websockets.sync.client import connect
import zstandard

CAMERA = messages.ViewerCameraMessage(
    wxyz=(1.0, 0.0, 0.0, 0.0),
    position=(1.0, -1.0, 1.0),
    fov=0.8,
    near=0.01,
    far=100.0,
    image_height=800,
    image_width=1280,
    look_at=(0.0, 0.0, 0.0),
    up_direction=(0.0, 0.0, 1.0),
)


class PageClient:
    """One page.

    Parameters
    ----------
    address : str
        Of the viewer, http://...

    Attributes
    ----------
    scene : dict of str to dict
        Properties of every node of the scene by name; arrays as numpy arrays.
    gui : dict of str to dict
        Properties of every element of the panel by its label (HTML: by its number).
    bytes, pictures : int
        Received so far; how often the robot has moved.
    picture_at : float
        When it moved last [s, monotonic clock].
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self.scene: dict[str, dict[str, Any]] = {}
        self.gui: dict[str, dict[str, Any]] = {}
        self._by_uuid: dict[str, dict[str, Any]] = {}
        self.bytes = self.pictures = 0
        self.picture_at = 0.0
        self._socket = connect(
            address.replace('http', 'ws', 1),
            max_size=None,
            ping_interval=None,
            subprotocols=[f'viser-v{viser.__version__}'],  # type: ignore[list-item]
        )
        self._send(CAMERA)  # a page counts from its first camera on

    def __enter__(self) -> PageClient:
        return self

    def __exit__(self, *error: object) -> None:
        self._socket.close()

    def html(self) -> str:
        """Return the page itself, as a browser would fetch it."""
        with urlopen(self.address, timeout=10.0) as answer:
            return str(answer.read().decode())

    def wait(self, condition: Callable[[], Any], timeout: float, what: str) -> Any:
        """Receive until a condition holds."""
        end = time.monotonic() + timeout
        while not (value := condition()):
            if time.monotonic() > end:
                raise AssertionError(f'no {what} within {timeout:g} s')
            self.receive(0.1)
        return value

    def receive(self, duration: float) -> None:
        """Receive for a while."""
        end = time.monotonic() + duration
        while (rest := end - time.monotonic()) > 0.0:
            try:
                frame = self._socket.recv(timeout=rest)
            except TimeoutError:
                return
            assert isinstance(frame, bytes)
            self._take(frame)

    def text(self) -> str:
        """Return all HTML of the panel."""
        return '\n'.join(str(e.get('content', '')) for e in self._by_uuid.values())

    def set(self, label: str, value: Any) -> None:
        """Set a slider, checkbox or dropdown."""
        self._send(messages.GuiUpdateMessage(self.gui[label]['uuid'], {'value': value}))

    def press(self, label: str) -> None:
        """Press a button."""
        self.set(label, True)

    def drag(self, name: str, position: tuple[float, float, float], steps: int = 5) -> None:
        """Drag a gizmo to a position in units of the scene."""
        start = np.array(self.scene[name].get('position', (0, 0, 0)), dtype=float)
        self.grab(name)
        for i in range(1, steps + 1):
            self.pull(name, tuple((start + (np.array(position) - start) * i / steps).tolist()))
            self.receive(0.03)
        self.let_go(name)

    def grab(self, name: str) -> None:
        """Take hold of a gizmo."""
        self._send(messages.TransformControlsDragStartMessage(name))

    def pull(self, name: str, position: tuple[float, float, float]) -> None:
        """Move a gizmo that is held to a position in units of the scene."""
        wxyz = tuple(float(x) for x in self.scene[name].get('wxyz', (1.0, 0.0, 0.0, 0.0)))
        self._send(messages.TransformControlsUpdateMessage(name, wxyz, position))

    def let_go(self, name: str) -> None:
        """Let a gizmo go."""
        self._send(messages.TransformControlsDragEndMessage(name))

    def _send(self, message: Any) -> None:
        self._socket.send(msgspec.msgpack.encode(message.as_serializable_dict()))

    def _take(self, frame: bytes) -> None:
        self.bytes += len(frame)
        packed = int.from_bytes(frame[8:16], 'little')
        plain = zstandard.ZstdDecompressor().decompress(
            frame[16 : 16 + packed], max_output_size=int.from_bytes(frame[:8], 'little')
        )
        content = msgspec.msgpack.decode(plain)
        arrays, at = [], -(-(16 + packed) // 8) * 8
        for length in content['binaryBufferLengths']:
            arrays.append(frame[at : at + length])
            at = -(-(at + length) // 8) * 8
        for message in content['messages']:
            self._apply(message, arrays)

    def _apply(self, message: dict[str, Any], arrays: list[bytes]) -> None:
        kind, name = message['type'], message.get('name', '')
        if kind == 'SceneNodeUpdateMessage':
            if name == '/robot' and 'batched_positions' in message['updates']:
                self.pictures += 1
                self.picture_at = time.monotonic()
            self.scene.setdefault(name, {}).update(_filled(message['updates'], arrays))
        elif kind in ('SetPositionMessage', 'SetOrientationMessage'):
            key = 'position' if kind == 'SetPositionMessage' else 'wxyz'
            self.scene.setdefault(name, {})[key] = message[key]
        elif kind == 'SetSceneNodeVisibilityMessage':
            self.scene.setdefault(name, {})['visible'] = message['visible']
        elif kind == 'GuiUpdateMessage':
            self._by_uuid[message['uuid']].update(_filled(message['updates'], arrays))
        elif kind.startswith('Gui') and 'props' in message:
            element = {**_filled(message['props'], arrays), 'uuid': message['uuid']}
            element['value'] = message.get('value')
            self._by_uuid[message['uuid']] = element
            self.gui[element.get('label') or f'#{len(self._by_uuid)}'] = element
        elif name and 'props' in message:
            self.scene.setdefault(name, {}).update(_filled(message['props'], arrays))


def _filled(properties: dict[str, Any], arrays: list[bytes]) -> dict[str, Any]:
    """Put arrays into the places that stand for them; only flat properties are looked at."""
    filled = dict(properties)
    for key, value in properties.items():
        if isinstance(value, dict) and '__binary_index' in value:
            filled[key] = np.frombuffer(arrays[value['__binary_index']], dtype=value['dtype'])
    return filled
