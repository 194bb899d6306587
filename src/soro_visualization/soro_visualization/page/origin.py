# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Who may talk to the viewer: its own page, and programs of this machine; no other web page.

A browser lets any page open a websocket to a loopback address, so a server that moves a robot has
to look at the headers itself (cross-site websocket hijacking), and at the name it was called by
(DNS rebinding). Viser does neither.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import http
from ipaddress import ip_address
import logging
import socket
import threading
from typing import Any
from urllib.parse import urlsplit

from websockets.asyncio import server as websocket_server
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

from soro_visualization.page.additions import with_additions

GOODBYE = 0.5  # s for a page to answer that the server ends; one that sleeps never does
_making = threading.Lock()
_log = logging.getLogger(__name__)


def _in_one_line(record: logging.LogRecord) -> bool:
    """Say in a line what a stranger's garbage was; a connection that asked for nothing is none."""
    if record.exc_info:
        record.msg, record.args = f'{record.getMessage()}: {record.exc_info[1]!r}', ()
        record.exc_info = None
    return not record.msg.startswith('opening handshake failed')


_log.addFilter(_in_one_line)


def refusal(headers: Headers) -> str:
    """Say why a request is refused; empty where it is not.

    The page itself comes with an Origin that is the Host it was loaded from. A Host is an address,
    ``localhost`` or the name of this machine: any other name may be one that a stranger's name
    server points here. Programs send no Origin; browsers cannot leave it out of a websocket.
    """
    hosts, origins = headers.get_all('Host'), headers.get_all('Origin')
    if len(hosts) != 1 or len(origins) > 1:
        return 'one Host and at most one Origin are needed'
    if not _is_ours(hosts[0]):
        return 'this server is reached by its address or as localhost'
    if origins and _place(origins[0]) != ('http', hosts[0].lower()):
        return 'the page of another site may not use this server'
    return ''


@contextmanager
def only_own_page(title: str) -> Iterator[None]:
    """Let websocket servers that start in this block refuse the pages of others.

    What they serve gets a title, and what `additions` adds.

    Viser hands nothing of a request on, so the check goes in front of its own handler. The block
    must last until the server listens.
    """
    serve = websocket_server.serve

    def guarded(*arguments: Any, process_request: Any, **options: Any) -> Any:
        def check(connection: Any, request: Request) -> Response | None:
            reason = refusal(request.headers)
            if not reason:
                answer = process_request(connection, request)
                return None if answer is None else with_additions(answer, title)
            _log.warning('refused a request: %s', reason)
            body = reason.encode()
            headers = Headers({'Content-Type': 'text/plain', 'Content-Length': str(len(body))})
            return Response(http.HTTPStatus.FORBIDDEN, 'Forbidden', headers, body)

        options |= {'logger': _log, 'close_timeout': GOODBYE}
        return serve(*arguments, process_request=check, **options)

    with _making:
        websocket_server.serve = guarded  # type: ignore[assignment,misc]
        try:
            yield
        finally:
            websocket_server.serve = serve  # type: ignore[misc]


def _place(url: str) -> tuple[str, str]:
    try:
        parts = urlsplit(url)
    except ValueError:
        return '', ''
    return parts.scheme, parts.netloc.lower()


def _is_ours(host: str) -> bool:
    try:
        name = urlsplit(f'//{host}').hostname or ''
    except ValueError:
        return False
    if name in ('localhost', socket.gethostname().lower()):
        return True
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
