# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Pages of other sites, and names that lead here from outside, do not reach the robot."""

from __future__ import annotations

import contextlib
import http.client
import logging
import socket
from urllib.parse import urlsplit

from hypothesis import example, given, settings
from hypothesis import strategies as st
import pytest
import viser
from websockets.asyncio import server as websocket_server
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosedError, InvalidStatus
from websockets.sync.client import connect

from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file
from soro_visualization.page.origin import only_own_page, refusal
from soro_visualization.page.viewer import derived_port, Viewer

FOREIGN = [
    'http://evil.example',
    'https://evil.example',
    'null',
    'file://',
    'http://localhost:1',
    'http://127.0.0.1',
    'http://127.0.0.1.evil.example:{port}',
    'https://127.0.0.1:{port}',
    'http://evil.example:{port}',
    'http://127.0.0.1:{port}@evil.example',
    'http://[',
    '',
]


@pytest.fixture(scope='module')
def address():
    description = read_robot_file(find_robot_file('stiff_flop'))
    viewer = Viewer(description, port=derived_port('test_page_origin'))
    yield viewer.address
    viewer.close()


def open_socket(address: str, **options: object):
    return connect(
        address.replace('http', 'ws', 1), subprotocols=[f'viser-v{viser.__version__}'], **options
    )


@pytest.mark.parametrize('origin', FOREIGN)
def test_the_page_of_another_site_is_refused(address, origin):
    origin = origin.format(port=urlsplit(address).port)
    with pytest.raises(InvalidStatus) as caught:
        open_socket(address, additional_headers={'Origin': origin}).close()
    assert caught.value.response.status_code == 403


def test_its_own_page_and_a_program_are_let_in(address):
    for origin in (address, None):
        with open_socket(address, origin=origin) as connection:
            assert connection.recv(timeout=10.0)


@pytest.mark.parametrize('host', ['evil.example', 'evil.example:80', '127.0.0.1.evil.example', ''])
def test_a_name_that_leads_here_from_outside_is_refused(address, host):
    parts = urlsplit(address)
    for path in ('/', '/index.html'):
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=10.0)
        connection.request('GET', path, headers={'Host': host})
        assert connection.getresponse().status == 403
        connection.close()


def test_the_page_itself_is_served_under_every_name_of_loopback(address):
    parts = urlsplit(address)
    for host in ('127.0.0.1', 'localhost', '[::1]'):
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=10.0)
        connection.request('GET', '/', headers={'Host': f'{host}:{parts.port}'})
        answer = connection.getresponse()
        assert answer.status == 200 and b'<html' in answer.read()
        connection.close()


@pytest.mark.parametrize('garbage', ['hello', b'', b'\xff\x00', b'\xc0', b'\x81\xa4type\xa4Nope'])
def test_what_is_no_message_ends_its_connection_in_one_line(address, caplog, garbage):
    with open_socket(address) as connection:
        connection.send(garbage)
        with pytest.raises(ConnectionClosedError):
            while True:
                connection.recv(timeout=10.0)
    (said,) = caplog.records
    assert said.exc_info is None and 'Traceback' not in said.getMessage()
    assert said.getMessage().startswith('connection handler failed: ')


def test_what_is_no_request_at_all_says_nothing(caplog, monkeypatch):
    # Viser silences it from the first request on, of any server of the process.
    monkeypatch.setattr(logging.getLogger('websockets.server'), 'filters', [])
    description = read_robot_file(find_robot_file('stiff_flop'))
    viewer = Viewer(description, port=derived_port('test_no_request'))
    parts = urlsplit(viewer.address)
    for garbage in (b'', b'hello\r\n\r\n', b'GET / HTTP/9\r\n\r\n', b'a' * 10_000):
        with socket.create_connection((parts.hostname, parts.port), 10.0) as connection:
            connection.sendall(garbage)
            connection.shutdown(socket.SHUT_WR)
            with contextlib.suppress(ConnectionResetError):
                assert not connection.recv(1)
    with open_socket(viewer.address) as connection:  # it serves as before
        assert connection.recv(timeout=10.0)
    viewer.close()
    assert not caplog.records


def test_a_page_that_sleeps_does_not_keep_the_viewer():
    description = read_robot_file(find_robot_file('stiff_flop'))
    viewer = Viewer(description, port=derived_port('test_sleeping'))
    parts = urlsplit(viewer.address)
    words = (
        'GET / HTTP/1.1',
        f'Host: {parts.netloc}',
        'Connection: Upgrade',
        'Upgrade: websocket',
        'Sec-WebSocket-Version: 13',
        'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
        f'Sec-WebSocket-Protocol: viser-v{viser.__version__}',
    )
    with socket.create_connection((parts.hostname, parts.port), 10.0) as page:
        page.sendall('\r\n'.join((*words, '', '')).encode())
        assert page.recv(12) == b'HTTP/1.1 101'
        thread = viewer.server._websock_server._server_thread
        viewer.close()
        assert not thread.is_alive()


def test_servers_made_elsewhere_are_left_alone():
    before = websocket_server.serve
    with only_own_page('Arm & hand'):
        assert websocket_server.serve is not before
    assert websocket_server.serve is before


printable = st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=40)


@given(printable, printable)
@example('[', 'http://[')
@example('127.0.0.1:x', 'http://127.0.0.1:x')
@example('[::1', 'http://[::1')
@settings(max_examples=200, deadline=None, derandomize=True)
def test_only_equal_places_pass(host, origin):
    headers = Headers([('Host', host), ('Origin', origin)])
    if not refusal(headers):
        assert origin.lower() == f'http://{host}'.lower() or origin.startswith('http://')
        assert urlsplit(origin).netloc.lower() == host.lower()


def test_headers_that_stand_twice_or_not_at_all_are_refused():
    assert refusal(Headers())
    assert refusal(Headers([('Host', 'localhost'), ('Host', 'localhost')]))
    twice = [('Host', 'localhost'), ('Origin', 'http://localhost'), ('Origin', 'http://x')]
    assert refusal(Headers(twice))
    assert not refusal(Headers([('Host', 'localhost')]))
