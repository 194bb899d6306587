# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Checks for real devices: ports, CAN links, cards, permissions, and who drives what."""

from __future__ import annotations

from collections.abc import Iterator
import json
from pathlib import Path
import re
import resource
import shutil
import subprocess

from soro_cli.doctor.findings import Finding, ok, warn
from soro_cli.doctor.machine import can_devices, ni_driver, serial_devices

MAX_LATENCY = 1  # ms, of a USB serial adapter before it hands bytes on
CANS = ('ip', '-details', '-json', 'link', 'show', 'type', 'can')
HELD = re.compile(r'@soro/(.+)$', re.MULTILINE)


def hardware_findings() -> Iterator[Finding]:
    """Run every check, one after the other."""
    yield from serial_devices(Path('/dev'))
    yield from usb_latency(Path('/sys/bus/usb-serial/devices'))
    yield from can_devices(Path('/sys/class/net'))
    if shutil.which('ip'):
        yield from can_links(subprocess.run(CANS, capture_output=True).stdout)
    yield from ni_driver()
    yield from cards()
    yield from real_time(resource.getrlimit(resource.RLIMIT_RTPRIO)[0])
    yield from held(Path('/proc/net/unix').read_text())


def usb_latency(folder: Path) -> Iterator[Finding]:
    """How long FTDI adapters keep bytes: 16 ms by default, more than a cycle."""
    for file in sorted(folder.glob('*/latency_timer')):
        name, latency = file.parent.name, int(file.read_text())
        remedy = f'echo {MAX_LATENCY} | sudo tee {file}'
        slow = warn('usb latency', f'{name} keeps bytes for {latency} ms', remedy)
        yield slow if latency > MAX_LATENCY else ok('usb latency', f'{name}: {latency} ms')


def can_links(text: bytes) -> Iterator[Finding]:
    """State and bit rate of CAN links, as `ip -details -json` has them."""
    for link in json.loads(text or b'[]'):
        name, data = link.get('ifname'), link.get('linkinfo', {}).get('info_data', {})
        rate, state = data.get('bittiming', {}).get('bitrate'), data.get('state', '')
        again = (
            f'sudo ip link set {name} down; sudo ip link set {name} up type can bitrate 1000000'
        )
        if rate and state in ('ERROR-ACTIVE', ''):
            yield ok('can link', f'{name}: {rate} bit/s, {state or "no state"}')
        elif name:
            remedy = f'check both terminators, then {again}'
            yield warn('can link', f'{name}: {rate or "no"} bit/s, {state}', remedy)


def cards() -> Iterator[Finding]:
    """NI cards in this computer."""
    try:
        from nidaqmx.system import System

        names = [f'{d.name} ({d.product_type})' for d in System.local().devices]
    except Exception:  # noqa: BLE001 - no driver; `ni_driver` says so
        return
    yield from (ok('card', name) for name in names)


def real_time(limit: int) -> Iterator[Finding]:
    """Whether a driver's parameter `priority` can work."""
    remedy = 'echo "$USER - rtprio 90" | sudo tee -a /etc/security/limits.conf'
    none = warn('priority', 'no real time for this user: `priority` must stay 0', remedy)
    able = limit == resource.RLIM_INFINITY or limit > 0
    yield ok('priority', 'a driver may ask for real time') if able else none


def held(text: str) -> Iterator[Finding]:
    """Devices that drivers and emulators have reserved."""
    yield from (ok('in use', name) for name in sorted(set(HELD.findall(text))))
