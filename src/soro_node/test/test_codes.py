# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The library's enumerations and the constants of the messages are the same numbers."""

from dataclasses import replace

import pytest
from std_srvs.srv import Trigger

from soro_mechanics.core.actuators import QUANTITIES
from soro_mechanics.core.configuration import LoadAxes, Task
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.core.status import Code, SolverStatus, Stability, Warnings
from soro_msgs.msg import ActuatorCommand, ErrorCode, Load
from soro_msgs.msg import SolverStatus as SolverStatusMessage
from soro_msgs.srv import SolveForward, SolveInverse
from soro_node.conversions import status_to_message
from soro_node.replies import answering, fill_code, fill_status


def constants(message, names=None):
    """Return the upper-case integer constants of a message class."""
    found = {n: getattr(message, n) for n in dir(message) if n.isupper()}
    return {n: v for n, v in found.items() if isinstance(v, int) and (not names or n in names)}


def test_error_codes_are_the_librarys():
    assert constants(ErrorCode) == {c.name: c.value for c in Code}


def test_stability_is_the_librarys():
    expected = {
        'STABILITY_UNKNOWN': Stability.UNKNOWN,
        'STABLE': Stability.STABLE,
        'UNSTABLE': Stability.UNSTABLE,
    }
    bits = {w.name for w in Warnings}
    found = constants(SolverStatusMessage)
    assert {n: v for n, v in found.items() if n not in bits} == expected


def test_warnings_are_the_librarys_and_reach_the_message():
    bits = {w.name: w.value for w in Warnings if w}
    assert constants(SolverStatusMessage, set(bits)) == bits
    status = SolverStatus(message='fine').warned(Warnings.OUTSIDE_THEORY, 'rods touch')
    said = status_to_message(replace(status, limit_distance=0.2, mesh_error=1e-4))
    assert (said.code, said.warnings) == (Code.NONE, Warnings.OUTSIDE_THEORY)
    assert said.message == 'fine; rods touch'
    assert (said.limit_distance, said.mesh_error) == (0.2, 1e-4)
    assert status_to_message(SolverStatus(message='fine')).warnings == 0


def test_tasks_axes_and_quantities_are_the_librarys():
    assert constants(SolveInverse.Request) == {t.name: t.value for t in Task}
    assert constants(Load) == {f'{a.name}_AXES': a.value for a in LoadAxes}
    known = {k.upper(): v[0] for k, v in QUANTITIES.items()}
    assert constants(ActuatorCommand) == known


class Logger:
    def __init__(self):
        self.lines = []

    def error(self, text):
        self.lines.append(text)


class Server:
    """A node with one service, reduced to what `answering` uses."""

    def __init__(self, error):
        self.logger = Logger()
        self._error = error

    def get_logger(self):
        return self.logger

    @answering
    def answer(self, request, response):
        """Raise."""
        raise self._error


def test_errors_become_replies():
    server = Server(InvalidInput('size', 3, 'four', Code.INVALID_SIZE))
    reply = server.answer(None, SolveForward.Response())
    assert reply.error_code == ErrorCode.INVALID_SIZE
    assert reply.error_message == 'size = 3: expected four'
    assert server.logger.lines == []


def test_faults_become_replies_and_are_logged():
    server = Server(ZeroDivisionError('oops'))
    reply = server.answer(None, SolveForward.Response())
    assert reply.error_code == ErrorCode.UNKNOWN
    assert 'oops' in reply.error_message
    assert 'Traceback' in server.logger.lines[0]


@pytest.mark.parametrize('code', list(Code))
def test_every_code_fits_into_a_reply(code):
    reply = fill_status(SolveForward.Response(), SolverStatus(code))
    assert reply.error_code == code
    assert (reply.error_message == '') is (code is Code.NONE)


def test_a_response_without_codes_says_whether_it_worked_and_the_name_of_the_code():
    done = fill_code(Trigger.Response(), Code.NONE, 'reloaded')
    assert (done.success, done.message) == (True, 'reloaded')
    busy = fill_code(Trigger.Response(), Code.BUSY, 'ask again later')
    assert (busy.success, busy.message) == (False, 'BUSY: ask again later')
