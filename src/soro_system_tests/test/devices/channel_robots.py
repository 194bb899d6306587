# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Robot files for benches of any number of channels: one text, `count` drives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from robot_processes import BENCH, RobotProcesses
from valve_robot import quick_file
import yaml

from soro_driver.device import DeviceState
from soro_mechanics.core.actuators import QUANTITIES
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file

DSPACE = Path(__file__).with_name('dspace_bench.yaml')
CAN = Path(__file__).with_name('can_bench_driver.yaml')
DRUM = [{'at': '0 rad', 'value': '0 mm'}, {'at': '1 rad', 'value': '10 mm'}]


def pressure_names(count: int) -> tuple[str, ...]:
    """Return the names of the drives of `pressure_robot`."""
    return tuple(f'chamber_{i}' for i in range(1, count + 1))


def pressure_robot(folder: Path, count: int) -> Path:
    """Write the robot of the serial bench with another number of chambers in its arm.

    The regulators are wired to them in the opposite order.
    """
    data = yaml.safe_load(DSPACE.read_text(encoding='utf-8'))
    names = pressure_names(count)
    segment, drive = data['body']['segments'][0], data['drives'][0]
    segment |= {
        'bending_stiffness': '0.2788 N m^2',
        'shear_factor': 0.85,
        'linear_density': '0.6 kg/m',
    }
    del segment['elongation'], segment['shortest_length'], segment['longest_length']
    segment['chambers'] = [
        {'drive': name, 'area': '250 mm^2', 'offset': '38 mm', 'angle': f'{360 * i / count:g} deg'}
        for i, name in enumerate(names)
    ]
    data['name'], data['models'] = f'dspace_{count}', {'npcc': {}}
    data['drives'] = [{**drive, 'name': name} for name in names]
    data['driver']['dspace']['channels'] = {name: count - i for i, name in enumerate(names)}
    file = folder / f'dspace_{count}.yaml'
    file.write_text(yaml.safe_dump(data, sort_keys=False), encoding='utf-8')
    return file


def mixed_robot(folder: Path) -> Path:
    """Write an arm of four chambers on two NI cards, by counters and by analog outputs."""
    data = yaml.safe_load(pressure_robot(folder, 4).read_text(encoding='utf-8'))
    rig = yaml.safe_load(BENCH.read_text(encoding='utf-8'))
    commands = ('Dev1/ctr0', 'Dev1/ao0', 'Dev2/ao1', 'Dev2/ctr3')
    monitors = ('Dev2/ai5', 'Dev1/ai0', 'Dev1/ai1', 'Dev2/ai0')
    wires = zip(pressure_names(4), monitors, commands, strict=True)
    cards = rig['driver']['nidaq']
    cards['channels'] = {n: {'feedback': f, 'command': c} for n, f, c in wires}
    for drive in data['drives']:
        drive['maximum'] = '1.4 bar'
    data |= {'name': 'nidaq_4', 'driver': rig['driver'], 'emulator': rig['emulator']}
    data['emulator'].pop('body', None)
    file = folder / 'nidaq_4.yaml'
    file.write_text(yaml.safe_dump(data, sort_keys=False), encoding='utf-8')
    return file


def chain_robot(folder: Path, firmware: str = 'emulated') -> Path:
    """Write the catalogue's chain of two rods with its two motors on a CAN board."""
    return _on_can(folder, _example('planar_chain'), 'planar_chain_can', firmware)


def _tendons(data: dict[str, Any], count: int) -> None:
    """Give an arm so many tendons around its backbone, each with a drive."""
    names = [f'tendon_{i}' for i in range(1, count + 1)]
    data['body']['tendons'] = {
        name: {'rods': ['arm'], 'polar': {'radius': '8 mm', 'angle': f'{360 * i / count:g} deg'}}
        for i, name in enumerate(names)
    }
    data['drives'] = [{'name': name} for name in names]


def tendon_robot(folder: Path, count: int = 6) -> Path:
    """Write the catalogue's arm with motors, each winds a springy tendon on a drum."""
    data = _example('tendon_arm')
    if count != 6:
        _tendons(data, count)
    for drive in data['drives']:
        drive |= {'quantity': 'angle', 'minimum': '0 rad', 'maximum': '0.8 rad', 'rate': '3 rad/s'}
        drive['acts'] = [{'drives': 'tendon', 'tendons': [drive['name']], 'curve': DRUM}]
        data['body']['tendons'][drive['name']]['stiffness'] = '500 N/m'
    return _on_can(folder, data, f'tendon_arm_can_{count}')


def servo_robot(folder: Path) -> Path:
    """Return the catalogue's arm of six servos."""
    return find_robot_file('stiff_flop').with_name('examples') / 'tendon_arm_servos.yaml'


def drive_robot(folder: Path) -> Path:
    """Return the catalogue's arm of six CANopen drives."""
    return servo_robot(folder).with_name('tendon_arm_drives.yaml')


def controlled_robot(folder: Path) -> Path:
    """Write the arm of `tendon_robot` behind ros2_control, its joints in another order."""
    data = yaml.safe_load(tendon_robot(folder).read_text(encoding='utf-8'))
    names = [drive['name'] for drive in data['drives']]
    data['driver'] |= {'device': 'ros2_control', 'rate': '100 Hz', 'time_to_live': '300 ms'}
    del data['driver']['can'], data['emulator']['can']
    data['driver']['ros2_control'] = {
        'command_topic': '/winches/commands',
        'joints': {name: f'{name}_winch' for name in names},
        'channels': {name: len(names) - i for i, name in enumerate(names)},
        'scale': '1 -1 2 1 -0.5 1',
        'zero': '0 0.1 0 -0.2 0 0',
    }
    file = folder / 'tendon_arm_ros2_control.yaml'
    file.write_text(yaml.safe_dump(data, sort_keys=False), encoding='utf-8')
    return file


def muscle_robot(folder: Path, firmware: str = 'emulated', modules: int = 2) -> Path:
    """Write some modules of the robot of muscles, on valves of a board in any order."""
    data = yaml.safe_load(quick_file(folder).read_text(encoding='utf-8'))
    data['drives'] = data['drives'][: 3 * modules]
    data['body'] |= {'modules': modules}
    data['body']['backbone'] |= {'length': f'{100 * modules} mm', 'mass': f'{40 * modules} g'}
    data['models'] = {'kirchhoff': {'elements': 20 * modules}}
    data['emulator']['stm32']['firmware'] = firmware
    return _on_valves(folder, data, data)


def four_muscles(folder: Path) -> Path:
    """Write an arm that four muscles pull at, each by itself."""
    data, muscles = _example('tendon_arm'), yaml.safe_load(quick_file(folder).read_text('utf-8'))
    _tendons(data, 4)
    pull = [{'at': '80 mm', 'value': '4 mm'}, {'at': '120 mm', 'value': '0 mm'}]
    for drive in data['drives']:
        acts = [{'drives': 'tendon', 'tendons': [drive['name']], 'curve': pull}]
        drive |= {**muscles['drives'][0], 'name': drive['name'], 'acts': acts}
        data['body']['tendons'][drive['name']]['stiffness'] = '500 N/m'
    muscles['driver']['stm32']['per_module'] = 1
    muscles['emulator'].pop('body', None)
    return _on_valves(folder, data, muscles)


def _on_valves(folder: Path, data: dict[str, Any], bench: dict[str, Any]) -> Path:
    """Write a robot on the valves of a board, from both ends of it."""
    board, names = bench['driver']['stm32'], [drive['name'] for drive in data['drives']]
    curves = list(board['curves'].values())[: len(names)]
    board['curves'] = dict(zip(names, curves, strict=True))
    board['valves'] = {name: f'{64 - 2 * i} {1 + 2 * i}' for i, name in enumerate(names)}
    data |= {key: bench[key] for key in ('driver', 'emulator')} | {'name': f'muscles_{len(names)}'}
    file = folder / f'{data["name"]}.yaml'
    file.write_text(yaml.safe_dump(data, sort_keys=False, width=10_000), encoding='utf-8')
    return file


def _example(name: str) -> dict[str, Any]:
    file = find_robot_file('stiff_flop').with_name('examples') / f'{name}.yaml'
    return yaml.safe_load(file.read_text(encoding='utf-8'))  # type: ignore[no-any-return]


def _on_can(folder: Path, data: dict[str, Any], name: str, firmware: str = 'emulated') -> Path:
    bench = yaml.safe_load(CAN.read_text(encoding='utf-8'))
    bench['emulator']['can']['firmware'] = firmware
    bench['driver']['can']['zero'] = ' '.join(['0'] * len(data['drives'])) + ' deg'
    file = folder / f'{name}.yaml'
    text = yaml.safe_dump({**data, **bench, 'name': name}, sort_keys=False)
    file.write_text(text, encoding='utf-8')
    return file


class ChannelRobot(RobotProcesses):
    """Driver and emulator of a robot with any actuators, as its file says."""

    def __init__(self, folder: Path, robot: Path, tolerance: float) -> None:
        super().__init__(folder, robot)
        self.actuators = read_robot_file(robot).actuators
        self.tolerance = tolerance  # SI, of the measurement
        self.rest = np.array([a.rest for a in self.actuators])

    def send(self, values: Any, names: Any = None, quantity: int = 0, source: str = '') -> None:
        """Publish one command, by default for every actuator."""
        names = [a.name for a in self.actuators] if names is None else names
        super().send(values, names, quantity or QUANTITIES[self.actuators[0].quantity][0], source)

    def go(self, goal: np.ndarray, timeout: float = 15.0) -> None:
        """Stream a target from where the robot is, and wait until the device is there."""

        def there() -> bool:
            if self.state.command_source != self.source:
                self.resume()
                self.target = self.where()
                return False
            self.target = goal
            return bool(np.all(np.abs(self.where() - goal) < self.tolerance))

        self.wait_for(there, timeout, f'at {goal}')

    def where(self) -> np.ndarray:
        """Return the measurement; where nothing measures, what the device says it applies."""
        measured = np.array(self.state.measured)
        return np.where(np.isnan(measured), self.state.applied, measured)

    def check_stays(self, seconds: float) -> None:
        """Go on commanding a robot that was stopped; nobody obeys."""
        here = self.where()
        self.target = here + 0.2 * np.array([a.maximum - a.minimum for a in self.actuators])
        end = len(self.states)
        self.spin(seconds)
        assert DeviceState.ACTIVE not in {s.device_state for _, s in self.states[end:]}
        self.target = None
