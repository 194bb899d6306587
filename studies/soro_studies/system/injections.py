# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The fault matrix: injections, devices, and where one does not apply to the other.

Which tests cover a cell is said where the tests stand, by `@pytest.mark.injection` in
src/soro_system_tests/test/devices; what they saw is in docs/evidence/reliability.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field

DEVICES = {
    'nidaq': 'NI cards over gRPC',
    'dspace': 'dSPACE box over a serial line',
    'stm32': 'STM32 valve board over Bluetooth serial',
    'can': 'CAN motor board',
}
DRIVES = {  # of the second matrix; firmware of stm32 and can is in their columns above
    'dspace-firmware': 'the reference task in C of the dSPACE box',
    'cia402': 'CANopen drives',
    'dynamixel': 'Dynamixel servos',
    'ros2_control': 'controllers of ros2_control',
}


@dataclass(frozen=True)
class Injection:
    """One row of the matrix.

    Attributes
    ----------
    title : str
    expected : str
        The reaction.
    without : dict of str to str
        Devices that it does not apply to, and why.
    owed : str
        What no test injects yet.
    """

    title: str
    expected: str
    without: dict[str, str] = field(default_factory=dict)
    owed: str = ''


STREAM = 'gRPC over TCP: the kernel keeps order and checksums, frames are not ours'
PNEUMATIC = 'no pressure'
SAME = "nothing of it is the device's: driver and loop are the same for all"
INJECTIONS: dict[int, Injection] = {
    1: Injection(
        'Cable pulled, peer gone',
        'outputs safe by the device within its time to live; ERROR; nothing resumes',
    ),
    2: Injection('Peer alive but silent, or frozen', 'the same, by age; old commands stay old'),
    3: Injection(
        'Damaged frames', 'none applied, all counted; survived or tripped, never wrong',
        {'nidaq': STREAM, 'can': 'the controllers discard them: lost frames (5)'},
    ),
    4: Injection('Garbage', 'no exception, no measurement of it'),
    5: Injection(
        'Lost frames, bursts', 'short ones survived, long ones trip and are noticed',
        {'nidaq': STREAM},
    ),
    6: Injection('Repeated frames', 'carried out once', {'nidaq': STREAM}),
    7: Injection(
        'Late and reordered frames', 'stale commands are dropped',
        owed='for the cards only late calls: TCP keeps their order',
    ),
    8: Injection('Device restarted while active', 'disarmed; armed again by a person only'),
    9: Injection('Another protocol, device, channel count', 'refused with what is wrong'),
    10: Injection('Driver killed (SIGKILL)', 'device safe by itself'),
    11: Injection(
        'SIGINT, SIGTERM', 'outputs safe, then the process ends with 0',
        owed='the events executor of rclpy: the drivers use the single-threaded one',
    ),
    12: Injection('Source of commands ends', 'safe action; a new first command, no jump'),
    13: Injection('NaN, infinity, wrong size, name, quantity', 'whole message refused, counted'),
    14: Injection('Commands beyond range and slew', 'limited and flagged'),
    15: Injection(
        'Feedback that stands still', 'found, by values or by sequence number',
        owed='encoders alone that stand still while nothing is to move: at rest they do',
    ),
    16: Injection(
        'Sensor out of range or open', 'that channel is flagged, safe policy',
    ),
    17: Injection(
        'Leak, burst, blocked line, supply lost', 'found, and of which kind',
        {'can': PNEUMATIC},
        owed='the false alarms in ten minutes without a fault are those of the soak, if any',
    ),
    18: Injection(
        'Regulator stuck open', 'dumped',
        {'can': PNEUMATIC, 'stm32': 'no pressure is measured; the budget bounds what enters'},
    ),
    19: Injection(
        'Bus off, babbling node', 'trips within the time to live; recovery by a person',
        dict.fromkeys(('nidaq', 'dspace', 'stm32'), 'no CAN'),
        owed='the bit times that error frames cost on a real bus',
    ),
    20: Injection(
        'Motor stalls, turns the wrong way, draws too much; encoder jumps', 'FAULT',
        dict.fromkeys(('nidaq', 'dspace', 'stm32'), 'no motors'),
        owed='a slack tendon: nothing on the wire measures its tension',
    ),
    21: Injection(
        'Both valves of a muscle, 65535 ms, budget used up, 30 muscles at once', 'NACK as a whole',
        dict.fromkeys(('nidaq', 'dspace', 'can'), 'no valves'),
    ),
    22: Injection('Peer does not read', 'writing ends in time; safe'),
    23: Injection('Loop stalled', 'short: counted; long: FAULT, no burst of old set-points'),
    24: Injection(
        'Wall clock steps by an hour', 'nothing trips',
        owed='the system\'s own clock is not set: the driver\'s view of it is; drift and wrap of '
        'the device\'s clock are unit tests',
    ),
    25: Injection(
        'Two masters, also with another TMPDIR', 'the second is refused, the first goes on'
    ),
    26: Injection(
        'Emergency stop in every state; error codes of cards', 'latched; clearing moves nothing',
        owed='codes of other devices: they have faults of their own (16 to 20)',
    ),
    27: Injection(
        'Process that watches the driver frozen (SIGSTOP)',
        'not armed without it; armed: FAULT, outputs made safe by the driver; another one starts',
        dict.fromkeys(('dspace', 'stm32', 'can'), 'no such process: a time to live'),
    ),
    28: Injection(
        'Device lost for good, then SIGINT', 'ERROR with the name of the device, exit code 1',
    ),
    29: Injection(
        'Commands and targets that go on after a stop, from 0.3 s to 9 s apart or as a stream',
        'nothing moves before a person clears it, by no release, activation or new configuration',
        owed='planner, viewer and haptics as senders: the section Stops',
    ),
    30: Injection(
        'After a stop: refused messages between, stamps that step back by 0.09 s to an hour',
        'no pause, no new beginning: nothing moves',
    ),
    31: Injection(
        'Emergency stop of any quality of service, under a flood of releases, of a sender that '
        'is gone',
        'every press is heard; nobody else releases it; who is gone is released by a service',
        dict.fromkeys(('dspace', 'stm32'), SAME),
    ),
    32: Injection(
        'Flood of commands at full speed', 'a stop and an emergency stop take at most 0.1 s',
        {'stm32': SAME},
    ),
    33: Injection(
        'Driver killed or ended, and started again, with a latched emergency stop',
        'latched; arms nothing', {'stm32': SAME},
    ),
    34: Injection(
        'Pressure that somebody else drives while the outputs are safe', 'FAULT, said in words',
        {'can': PNEUMATIC, 'stm32': 'no pressure is measured'},
    ),
}  # fmt: skip

_WIRE = 'topics: the middleware keeps them whole, each replaces the one before'
_ENCODER = 'their encoders: an error of the drive itself (20)'
_NUMBERS = {17: PNEUMATIC, 18: PNEUMATIC, 34: PNEUMATIC, 21: 'no valves'}
_LOOP = dict.fromkeys((31, 32, 33), SAME)
# Of the drives, by device and number.
WITHOUT: dict[str, dict[int, str]] = {
    'dspace-firmware': {
        **{n: i.without['dspace'] for n, i in INJECTIONS.items() if 'dspace' in i.without},
        9: 'it has the one that it has', 31: SAME,
    },
    'cia402': {
        **_NUMBERS, **_LOOP, 3: 'the controllers discard them: lost frames (5)',
        4: 'a frame with the identifier of a drive is one of the drive; damaged ones: lost (5)',
        9: 'a test of the package: what is no drive, or cannot be told to let go, is refused',
        15: 'encoders at rest do; one that does not follow: (20)', 16: _ENCODER,
        27: 'no such process: the heartbeat consumer of the drives',
    },
    'dynamixel': {
        **_NUMBERS, **_LOOP, 9: 'a test of the package: another model, mode or number is refused',
        15: 'encoders at rest do; one that does not follow: (20)', 16: _ENCODER, 19: 'no CAN',
        27: 'no such process: the Bus Watchdog of the servos',
    },
    'ros2_control': {
        **_NUMBERS, **_LOOP, **dict.fromkeys((3, 4, 5, 6, 7, 22), _WIRE), 19: 'no CAN',
        8: 'controllers that start anew are those that went (1)',
        9: 'joints are found by their names', 16: 'NaN is a lost device: a test of the package',
        15: 'joint states that repeat are a lost device: a test of the package',
    },
}  # fmt: skip


def reason(device: str, number: int) -> str:
    """Return why an injection does not apply to a device, or nothing."""
    return INJECTIONS[number].without.get(device) or WITHOUT.get(device, {}).get(number, '')
