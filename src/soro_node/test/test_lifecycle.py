# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Transitions that fail say so, stop the outputs, and can be tried again; diagnostics."""

from types import SimpleNamespace

from diagnostic_msgs.msg import DiagnosticArray
from lifecycle_msgs.srv import ChangeState, GetState
import pytest
from rclpy.context import Context
from rclpy.lifecycle import TransitionCallbackReturn

from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.core.status import Code
from soro_node import main
from soro_node.diagnostics import Diagnostics, Level
from soro_node.lifecycle import GuardedLifecycleNode, NotActive
from soro_rigs.domains import own_domain
from soro_rigs.ros_session import RosSession, wait_until

SUCCESS, FAILURE, ERROR = (
    TransitionCallbackReturn.SUCCESS,
    TransitionCallbackReturn.FAILURE,
    TransitionCallbackReturn.ERROR,
)


class Clumsy(GuardedLifecycleNode):
    """Raises what it is told to, and writes down what is called."""

    def __init__(self, **kwargs):
        super().__init__('clumsy', **kwargs)
        self.calls = []
        self.errors = {}

    def _do(self, name):
        self.calls.append(name)
        if name in self.errors:
            raise self.errors[name]

    def configure(self):
        """Note and perhaps fail."""
        self._do('configure')

    def activate(self):
        """Note and perhaps fail."""
        self._do('activate')

    def deactivate(self):
        """Note and perhaps fail."""
        self._do('deactivate')

    def cleanup(self):
        """Note and perhaps fail."""
        self._do('cleanup')

    def stop_outputs(self):
        """Note and perhaps fail."""
        self._do('stop_outputs')


@pytest.fixture(params=['', '/lab/arm'], ids=['root', 'namespace'])
def ros(request):
    with RosSession(request.param) as session:
        session.namespace = request.param
        yield session


@pytest.fixture
def node(ros):
    return ros.node(Clumsy, ros.namespace)


def test_what_fails_because_a_stop_was_swallowed_ends_the_start_without_a_word(
    node, monkeypatch, capfd
):
    """An exception in a callback of a compiler's C++ is lost; the compiler fails instead."""
    node.errors['configure'] = RuntimeError('no compiled object yet')
    for come in (True, False):
        monkeypatch.setattr(main, '_signals', SimpleNamespace(interrupts=come))
        if come:
            with pytest.raises(main.StopRequested):
                node._guarded('configure', node.configure)
            assert 'no compiled object' not in capfd.readouterr().err
        else:
            assert node._guarded('configure', node.configure) is ERROR


def state(ros):
    return ros.call(GetState, 'clumsy/get_state', GetState.Request()).current_state.label


def refused():
    return InvalidInput('robot', '', 'a name')


def test_autostart_makes_it_active(ros, node):
    assert ros.start(node)
    assert node.calls == ['configure', 'activate']
    assert (node.active, state(ros)) == (True, 'active')
    node.check_active()


def test_a_refusal_leaves_the_state_and_can_be_tried_again(ros, node):
    node.errors = {'configure': refused()}
    assert not ros.start(node)
    assert (state(ros), node.calls) == ('unconfigured', ['configure'])
    node.errors = {}
    assert ros.start(node)


def test_a_failed_activation_stops_the_outputs(ros, node):
    node.errors = {'activate': refused()}
    assert not ros.start(node)
    assert node.calls[-1] == 'stop_outputs'
    assert (node.active, state(ros)) == (False, 'inactive')
    with pytest.raises(NotActive) as caught:
        node.check_active()
    assert caught.value.code is Code.NOT_ACTIVE


@pytest.mark.parametrize('where', ['configure', 'activate', 'deactivate'])
def test_a_fault_stops_the_outputs_and_unconfigures(ros, node, where):
    node.errors = {where: ZeroDivisionError()}
    if ros.start(node):
        node.trigger_deactivate()
    assert 'stop_outputs' in node.calls
    assert (node.active, state(ros)) == (False, 'unconfigured')
    node.errors = {}
    assert ros.start(node)


def test_a_refusal_to_deactivate_still_ends_inactive_outputs(ros, node):
    node.errors = {'deactivate': refused()}
    assert ros.start(node)
    node.trigger_deactivate()
    assert not node.active
    assert 'stop_outputs' in node.calls
    assert state(ros) == 'unconfigured'


def test_when_even_stopping_fails_the_node_is_finalized(ros, node):
    node.errors = {'activate': ZeroDivisionError(), 'stop_outputs': ZeroDivisionError()}
    assert not ros.start(node)
    assert state(ros) == 'finalized'


def test_make_safe_never_raises(node):
    node.errors = {'stop_outputs': ZeroDivisionError()}
    node.make_safe()
    assert node.calls == ['stop_outputs']


def test_shutdown_stops_the_outputs(ros, node):
    assert ros.start(node)
    request = ChangeState.Request()
    request.transition.id = 7  # shutdown of an active node
    assert ros.call(ChangeState, 'clumsy/change_state', request).success
    assert node.calls[2:] == ['stop_outputs', 'cleanup']
    assert state(ros) == 'finalized'


def test_diagnostics_go_out_on_change_and_every_second(ros, node):
    messages = ros.listen(DiagnosticArray, '/diagnostics')
    diagnostics = Diagnostics(node)
    wait_until(lambda: diagnostics._publisher.get_subscription_count())
    diagnostics.report('device', Level.OK, 'fine', pressure=1.25)
    wait_until(lambda: messages)
    status = messages[0].status[0]
    own = f'{ros.namespace}/clumsy'
    assert (status.name, status.message) == (f'{own}: device', 'fine')
    assert status.hardware_id == (ros.namespace.strip('/') or 'clumsy')
    assert [(v.key, v.value) for v in status.values] == [('pressure', '1.25')]
    # values alone are no change; level and message are
    count = len(messages)
    diagnostics.report('device', Level.ERROR, 'broken', pressure=1.5)
    wait_until(lambda: any(m.status[0].level == b'\x02' for m in messages))
    assert len(messages) <= count + 2
    assert diagnostics.status('device').level == b'\x02'
    # and again by itself
    count = len(messages)
    wait_until(lambda: len(messages) >= count + 2, timeout=5.0)


def test_a_destroyed_node_takes_leave_though_something_still_refers_to_it(ros):
    context = Context()
    context.init(args=[], domain_id=own_domain())
    node = Clumsy(context=context, namespace=ros.namespace)
    names = ros.client.get_node_names
    wait_until(lambda: 'clumsy' in names())
    node.destroy_node()
    wait_until(lambda: 'clumsy' not in names())  # else after 20 s, when its lease ends
    context.try_shutdown()
    assert node.calls == []  # referred to until here


def test_a_node_interrupted_while_it_is_made_is_destroyed_without_complaint(monkeypatch):
    def interrupted(*arguments, **more):
        raise KeyboardInterrupt

    monkeypatch.setattr('rclpy.lifecycle.node.LifecycleNodeMixin.__init__', interrupted)
    context = Context()
    context.init(args=[], domain_id=own_domain())
    with pytest.raises(KeyboardInterrupt) as caught:
        Clumsy(context=context)
    context.try_shutdown()  # destroys the half node, which the traceback still refers to
    assert caught.value is not None
