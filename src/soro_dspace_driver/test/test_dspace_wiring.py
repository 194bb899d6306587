# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The section `driver.dspace`: slew limits that the device cannot be told are refused."""

from __future__ import annotations

from types import SimpleNamespace

from computer_on_a_link import ComputerLink
import pytest

from soro_dspace_driver.protocol import Limits
from soro_dspace_driver.transport import DspaceTransport
from soro_dspace_driver.wiring import read_wiring
from soro_mechanics.core.actuators import Actuator
from soro_mechanics.core.errors import RobotFileError
from soro_mechanics.robot_file.reader import written_path
from soro_mechanics.robot_file.section import Section


def read(*rates):
    names = [f'p{i}' for i in range(1, 4)]
    actuators = tuple(
        Actuator(name, 'pressure', 0.0, 1.8e5, rate, 0.0)
        for name, rate in zip(names, rates, strict=True)
    )
    section = {'port': 'memory', 'channels': {name: i + 1 for i, name in enumerate(names)}}
    robot = SimpleNamespace(
        actuators=actuators, written_path=lambda path: written_path({'actuators': 'drives'}, path)
    )
    return read_wiring(Section(section, 'driver.dspace'), robot)


@pytest.mark.parametrize(
    ('rates', 'path'),
    [
        ((2e5, 50.0, 2e5), 'drives[1].rate'),
        ((99.0, 2e5, 2e5), 'drives[0].rate'),
        ((8e6, 9e6, 7e6), 'drives[2].rate'),
    ],
)
def test_a_rate_that_does_not_fit_is_refused_with_its_path(rates, path):
    with pytest.raises(RobotFileError, match='100 to 6.5535e.06 Pa/s') as error:
        read(*rates)
    assert error.value.path == path


@pytest.mark.parametrize(('slowest', 'count'), [(100.0, 1), (2e5, 2000), (6.5535e6, 0xFFFF)])
def test_a_rate_that_fits_reaches_the_device(slowest, count):
    class Link(ComputerLink):
        def send(self, body, seq=None):
            told.append(body.unpack(body.pack()))
            return super().send(body, seq)

    told = []
    transport = DspaceTransport(read(9e6, slowest, 9e6), 1.0, 5.0)
    transport.session.link = Link()
    transport.open()
    (limits,) = (body for body in told if isinstance(body, Limits))
    assert limits.rate == count
