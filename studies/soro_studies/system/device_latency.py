# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""How long an exchange with each device takes at its rate, beside the vendor's library alone.

`python -m soro_studies.system.device_latency [--only DEVICES] [--seconds S]` measures every device
on its emulator, a process of its own on the real kind of link, and writes
docs/evidence/device_latency.json and the page beside it. Both sides talk to the same emulator, one
after the other; an exchange ends when the answer is there. What is measured of ours is the device
of the driver, without ROS.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
import contextlib
import datetime
import json
import os
from pathlib import Path
import platform
import signal
import subprocess
import sys
import time
from typing import Any

import numpy as np

from soro_driver import devices
from soro_driver.device import DeviceError
from soro_driver.endpoint import derive, Endpoint
from soro_driver.serial.frame import Ack, Disarm, FrameReader
from soro_driver.settings import DriverSettings, read_driver_settings
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file
from soro_node.process.parent_death import until_parent_dies

RESULT, PAGE = (Path(f'docs/evidence/device_latency.{kind}') for kind in ('json', 'md'))
EXAMPLES = Path('src/soro_mechanics/soro_mechanics/robots/examples')
EMULATOR = (
    "from soro_node.process.early_start import import_and_run as run; run('soro_emulation.node')"
)
START, LOOK, ANSWER = 90.0, 1e-4, 1.0  # s: until an emulator answers, between looks, for an answer
WHAT = {
    'nidaq': ('stiff_flop', 'one sample of every monitor', 'nidaqmx over gRPC'),
    'dspace': ('soft_parallel', 'DISARM and its ACK', 'pyserial'),
    'stm32': ('pam_continuum', 'DISARM and its ACK, over a radio of 25 to 40 ms', 'pyserial'),
    'can': ('haptic_5dof', 'set-points, SYNC, all answers', 'python-can, socketcand'),
    'cia402': (str(EXAMPLES / 'tendon_arm_drives.yaml'), 'the same, six drives', 'canopen'),
    'dynamixel': (
        str(EXAMPLES / 'tendon_arm_servos.yaml'), 'goals out, positions in, six servos',
        'dynamixel-sdk',
    ),
    'ros2_control': (
        str(EXAMPLES / 'tendon_arm_controllers.yaml'),
        'command out, joint states of after it in', 'rclpy publisher',
    ),
}  # fmt: skip
Exchange = Callable[[], None]


def ours(name: str, device: Any, settings: DriverSettings) -> Exchange:
    """Return an exchange by the device of our driver."""
    if name in ('dspace', 'stm32'):
        return lambda: (device.transport.session.request(Disarm(), ANSWER), None)[1]
    while not device.ready():
        time.sleep(LOOK)
    device.arm()
    here = device.read().measured

    def exchange() -> None:
        begin = time.monotonic()
        device.write(here, settings.ttl)
        while device.read().time < begin:
            if time.monotonic() - begin > ANSWER:
                raise DeviceError('no answer')
            time.sleep(LOOK)

    return exchange if name != 'nidaq' else lambda: (device.read(), None)[1]


@contextlib.contextmanager
def alone(name: str, place: Endpoint, device: Any) -> Iterator[Exchange]:
    """Yield the same exchange by the vendor's library."""
    with contextlib.ExitStack() as stack:
        yield ALONE[name](place, device, stack)


def _cards(place: Endpoint, device: Any, stack: contextlib.ExitStack) -> Exchange:
    import grpc
    import nidaqmx
    from nidaqmx.stream_readers import AnalogMultiChannelReader

    channel = stack.enter_context(grpc.insecure_channel(place.address))
    options = nidaqmx.GrpcSessionOptions(channel, session_name='')
    task = stack.enter_context(nidaqmx.Task(grpc_options=options))
    for wired in device.wiring.channels:
        task.ai_channels.add_ai_voltage_chan(wired.feedback, min_val=-10.0, max_val=10.0)
    reader, sample = (
        AnalogMultiChannelReader(task.in_stream),
        np.zeros(len(device.wiring.channels)),
    )
    reader.verify_array_shape = False  # it would ask the device before every read
    return lambda: reader.read_one_sample(sample, timeout=ANSWER)


def _serial(place: Endpoint, device: Any, stack: contextlib.ExitStack) -> Exchange:
    import serial

    port = stack.enter_context(
        serial.Serial(str(place.path), device.wiring.baudrate, timeout=ANSWER)
    )
    numbers, version = iter(range(1, 1 << 16)), device.transport.session.link.version

    def exchange() -> None:
        reader, seq = FrameReader(), next(numbers)
        port.write(Disarm().frame(seq, version).pack())
        while True:
            data = port.read_until(b'\0')
            if not data:
                raise DeviceError('no answer')
            if any(f.type == Ack.type for f in reader.feed(data)):
                return

    return exchange


def _bus(
    place: Endpoint, frames: list[tuple[int, bytes]], answers: set[int], stack: Any
) -> Exchange:
    import can

    bus = can.Bus(interface='socketcand', host='127.0.0.1', port=place.port, channel='can0')
    stack.callback(bus.shutdown)

    def exchange() -> None:
        for identifier, data in frames:
            bus.send(can.Message(arbitration_id=identifier, data=data, is_extended_id=False))
        missing, end = set(answers), time.monotonic() + ANSWER
        while missing:
            message = bus.recv(ANSWER)
            if message is None or time.monotonic() > end:
                raise DeviceError(f'no answer of {missing}')
            missing.discard(message.arbitration_id)

    return exchange


def _board(place: Endpoint, device: Any, stack: contextlib.ExitStack) -> Exchange:
    from soro_can_driver.frame import Control
    from soro_can_driver.protocol import Command, Sync

    hold = Control(False, 0, 3)  # type: ignore[arg-type]
    frames: list[Any] = [Command(g, 0, hold, (0, 0, 0)) for g in (0, 1)]
    packed = [(int(f.id), f.pack()) for f in (*frames, Sync(1))]
    return _bus(place, packed, {0x181, 0x182, 0x191, 0x192, 0x1A1, 0x1A2}, stack)


def _drives(place: Endpoint, device: Any, stack: contextlib.ExitStack) -> Exchange:
    """Return SYNC and answers; the driver has mapped what the drives say."""
    import threading

    import canopen

    network = canopen.Network()
    network.connect(interface='socketcand', host='127.0.0.1', port=place.port, channel='can0')
    stack.callback(network.disconnect)
    network.nmt.state = 'OPERATIONAL'
    nodes, arrived, missing = device.wiring.nodes, threading.Event(), set[int]()

    def heard(identifier: int, data: bytearray, time_: float) -> None:
        missing.discard(identifier)
        if not missing:
            arrived.set()

    for node in nodes:
        network.subscribe(0x180 + node, heard)

    def exchange() -> None:
        missing.update(0x180 + node for node in nodes)
        arrived.clear()
        for node in nodes:
            network.send_message(0x200 + node, bytes(6))
        network.sync.transmit()
        if not arrived.wait(ANSWER):
            raise DeviceError(f'no answer of {missing}')

    return exchange


def _servos(place: Endpoint, device: Any, stack: contextlib.ExitStack) -> Exchange:
    import dynamixel_sdk as sdk

    # Its one setting for slow adapters: how long they keep bytes [ms]; here a busy computer does.
    sdk.port_handler.LATENCY_TIMER = 100
    port, handler = sdk.PortHandler(str(place.path)), sdk.PacketHandler(2.0)
    if not (port.openPort() and port.setBaudRate(device.wiring.baudrate)):
        raise DeviceError('the port does not open')
    stack.callback(port.closePort)
    reader = sdk.GroupSyncRead(port, handler, 132, 4)
    writer = sdk.GroupSyncWrite(port, handler, 116, 4)
    for servo in device.wiring.ids:
        reader.addParam(servo)
        writer.addParam(servo, list(bytes(4)))

    def exchange() -> None:
        if writer.txPacket() or reader.txRxPacket():
            raise DeviceError('no answer')

    return exchange


def _topics(place: Endpoint, device: Any, stack: contextlib.ExitStack) -> Exchange:
    import rclpy
    from sensor_msgs.msg import JointState
    from std_msgs.msg import Float64MultiArray

    from soro_node.middleware import set_middleware

    set_middleware()
    rclpy.init(args=[])
    stack.callback(rclpy.try_shutdown)
    node, wiring, states = rclpy.create_node('alone'), device.wiring, list[JointState]()
    publisher = node.create_publisher(Float64MultiArray, wiring.command_topic, 1)
    node.create_subscription(JointState, wiring.state_topic, states.append, 1)
    executor = rclpy.executors.SingleThreadedExecutor()
    executor.add_node(node)
    message, end = Float64MultiArray(data=[0.0] * len(wiring.joints)), time.monotonic() + START
    while not (publisher.get_subscription_count() and states) and time.monotonic() < end:
        executor.spin_once(0.1)

    def exchange() -> None:
        while states:  # those of before
            states.clear()
            executor.spin_once(0.0)
        publisher.publish(message)
        begin = time.monotonic()
        while not states:
            if time.monotonic() - begin > ANSWER:
                raise DeviceError('no answer')
            executor.spin_once(ANSWER)

    return exchange


ALONE: dict[str, Any] = {
    'nidaq': _cards, 'dspace': _serial, 'stm32': _serial, 'can': _board, 'cia402': _drives,
    'dynamixel': _servos, 'ros2_control': _topics,
}  # fmt: skip


def measure(exchange: Exchange, rate: float, seconds: float) -> dict[str, float]:
    """Exchange at a rate; return times [ms] and what was lost.

    *late*: the begin of an exchange after its slot; *took*: until its answer; *processor*: of all
    threads of this process per exchange.
    """
    late, took, lost, slot = [], [], 0, 0
    begin, work = time.monotonic() + 0.1, time.process_time()
    while slot < seconds * rate:
        due = begin + slot / rate
        time.sleep(max(0.0, due - time.monotonic()))
        start = time.monotonic()
        late.append(start - due)
        try:
            exchange()
            took.append(time.monotonic() - start)
        except DeviceError:
            lost += 1
        slot = max(slot + 1, int(np.ceil((time.monotonic() - begin) * rate)))
    work = time.process_time() - work
    found = {'exchanges': len(took), 'lost': lost, 'processor': 1e3 * work / len(late)}
    for key, values in (('late', late), ('took', took)):
        for percent in (50, 99):
            found[f'{key}_p{percent}'] = 1e3 * float(np.percentile(values, percent))
    return {key: round(value, 3) for key, value in found.items()}


@contextlib.contextmanager
def emulator(robot: Path, namespace: str) -> Iterator[None]:
    """Run an emulator."""
    words = ['--ros-args', '-r', f'__ns:={namespace}', '-p', f'robot:={robot}', '-p', 'rate:=0.0']
    process = subprocess.Popen(
        [sys.executable, '-c', EMULATOR, *words, '--log-level', 'error'],
        preexec_fn=until_parent_dies(),
    )
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20.0)


def of_device(name: str, seconds: float) -> dict[str, Any]:
    """Measure both sides of one device."""
    file = find_robot_file(WHAT[name][0])
    robot, namespace = read_robot_file(file), f'/latency_{os.getpid()}'
    settings = read_driver_settings(robot)
    place = derive(namespace, name)
    with emulator(file, namespace):
        device: Any = devices.load(name).from_section(settings.section, robot, place)
        end = time.monotonic() + START
        while True:
            try:
                device.open()
                break
            except DeviceError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.2)
        rate = min(settings.rate, 10.0) if name == 'stm32' else settings.rate
        row: dict[str, Any] = {'rate': rate, 'load': round(os.getloadavg()[0], 1)}
        row['ours'] = measure(ours(name, device, settings), rate, seconds)
        with contextlib.suppress(DeviceError):
            device.make_safe()
        device.close()
        with alone(name, place, device) as exchange:
            row['alone'] = measure(exchange, rate, seconds)
    return row


def page(found: dict[str, Any]) -> str:
    """Return the page."""
    days = ' and '.join(sorted({row['date'] for row in found['devices'].values()}))
    lines = [
        '# Latency and jitter of devices\n',
        f'`python -m soro_studies.system.device_latency`, {days}, {found["machine"]}. '
        'Each device at its rate on its emulator, a process of its own: the device of the driver '
        "(without ROS), then the vendor's library alone. Times in ms, p50 / p99: *late* is how "
        'long after its slot an exchange began (the jitter of the loop), *took* until its answer '
        'was there, *processor* what all threads needed per exchange, which other programs hardly '
        'change. Load: of the minute before, on two shared cores; what other programs take stands '
        'in the p99. Over socketcand python-can sends every frame by itself, and the kernel holds '
        'the second one back until the first is acknowledged: not with TCP_NODELAY, nor on a CAN '
        'adapter.\n',
        '| Device | Exchange | Hz | Load | | took | late | processor | lost |',
        '|---|---|---|---|---|---|---|---|---|',
    ]
    for name, row in found['devices'].items():
        for side, who in (('ours', 'driver'), ('alone', WHAT[name][2])):
            r = row[side]
            pairs = (f'{r[f"{k}_p50"]:.2f} / {r[f"{k}_p99"]:.2f}' for k in ('took', 'late'))
            head = f'{name} | {WHAT[name][1]} | {row["rate"]:g} | {row["load"]:g}'
            head = head if side == 'ours' else ' | | | '
            lost = f'{r["lost"]} of {r["lost"] + r["exchanges"]}'
            lines.append(
                f'| {head} | {who} | {" | ".join(pairs)} | {r["processor"]:.2f} | {lost} |'
            )
    return '\n'.join(lines) + '\n'


def main(words: Sequence[str] | None = None) -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--only', nargs='*', default=list(WHAT), choices=list(WHAT))
    parser.add_argument('--seconds', type=float, default=20.0)
    arguments = parser.parse_args(words)
    found = json.loads(RESULT.read_text()) if RESULT.exists() else {'devices': {}}
    for name in arguments.only:
        day = f'{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d}'
        found['devices'][name] = {'date': day, **of_device(name, arguments.seconds)}
        print(name, found['devices'][name], flush=True)
    found['devices'] = {n: found['devices'][n] for n in WHAT if n in found['devices']}
    real_time = os.sched_getscheduler(0) in (os.SCHED_RR, os.SCHED_FIFO)
    priority = 'real-time priority (chrt -r 5)' if real_time else 'no priority'
    found['machine'] = f'{platform.machine()}, Python {platform.python_version()}, {priority}'
    RESULT.write_text(json.dumps(found, indent=1) + '\n', encoding='utf-8')
    PAGE.write_text(page(found), encoding='utf-8')


if __name__ == '__main__':
    main()
