# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The node on a device in memory: what it publishes, what it reads again, what it hears."""

from dataclasses import replace
import threading

from device_in_memory import renderer_in_memory
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped, WrenchStamped
import numpy as np
import pytest
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.time import Time
from recorded_rig import nominal_calibration
from std_msgs.msg import Bool
from std_srvs.srv import Trigger

from soro_driver.device import DeviceLost, DeviceState
from soro_driver.driver_report import HUNG
from soro_mechanics.haptics.flex_calibration import save_calibration
from soro_msgs.msg import ActuatorCommand, ActuatorState, FlexState, TipEstimate
from soro_node.diagnostics import Diagnostics
from soro_node.qos import LATCHED
from soro_rigs.ros_session import wait_for, wait_until

pytestmark = pytest.mark.timeout(900)  # the first solve compiles the network's kernels

DONE = TransitionCallbackReturn.SUCCESS


def stamp(message):
    return Time.from_msg(message.header.stamp).nanoseconds


def test_without_an_estimate_none_is_published(ros, monkeypatch, tmp_path):
    save_calibration(nominal_calibration(), tmp_path / 'calibration.yaml')
    node, device, _ = renderer_in_memory(ros, monkeypatch, tmp_path)
    flex = ros.listen(FlexState, 'flex_state')
    states = ros.listen(ActuatorState, 'actuator_state')
    copies = [
        ros.listen(kind, topic)
        for kind, topic in ((TipEstimate, 'tip_estimate'), (PoseStamped, 'tip_pose'))
    ]
    felt = ros.listen(WrenchStamped, 'hand_wrench')
    device.angle = np.full(6, np.nan)  # where the motors are is not known: no model yet
    assert ros.do(node, node.trigger_configure) == DONE
    wait_until(lambda: len(states) > 20)
    assert not any(copies)
    device.angle = np.zeros(6)
    wait_until(lambda: all(copies) and flex and np.isfinite(flex[-1].value).all())
    begin = len(states)
    device.angle = np.full(6, np.nan)
    lost = wait_until(lambda: [s for s in states[begin:] if np.isnan(s.measured[0])])[0]
    wait_until(lambda: min(stamp(states[-1]), stamp(flex[-1])) > stamp(lost) + 500_000_000)
    assert all(stamp(copy[-1]) <= stamp(lost) for copy in copies)
    assert np.isnan(flex[-1].value).all() and np.isfinite(flex[-1].raw).all()
    # The sensors in memory do not fit the model: what is not felt is no measured zero.
    assert copies[0][-1].observable_directions == 0 and not felt


def test_a_calibration_that_cannot_be_used_is_not_used(ros, monkeypatch, tmp_path, capfd):
    path = tmp_path / 'calibration.yaml'
    save_calibration(replace(nominal_calibration(), robot='another'), path)
    node, _, _ = renderer_in_memory(ros, monkeypatch, tmp_path)
    assert ros.do(node, node.trigger_configure) == DONE
    assert not node._control.haptics.guard.calibrated
    assert 'this file is not for haptic_5dof' in capfd.readouterr().err
    answer = ros.call(Trigger, 'haptic_renderer/reload_calibration', Trigger.Request())
    assert not answer.success and 'calibrate it' in answer.message


@pytest.mark.parametrize(('loop', 'emulated'), [('direct', True), ('topics', None)])
def test_only_the_owner_of_the_device_says_whether_it_is_emulated(
    ros, monkeypatch, tmp_path, loop, emulated
):
    node, _, _ = renderer_in_memory(ros, monkeypatch, tmp_path, loop=loop)
    assert node.emulated is emulated


def test_the_loop_reports_by_itself_and_the_executor_where_there_is_none(
    ros, monkeypatch, tmp_path
):
    said, publish = [], Diagnostics.publish

    def noted(diagnostics):
        said.append((threading.current_thread().name, diagnostics._node.get_name()))
        publish(diagnostics)

    monkeypatch.setattr(Diagnostics, 'publish', noted)
    save_calibration(nominal_calibration(), tmp_path / 'calibration.yaml')
    node, _, _ = renderer_in_memory(ros, monkeypatch, tmp_path)
    loop = ('control loop', 'haptic_renderer')

    def by_others():
        return sum(name == 'haptic_renderer' and thread != loop[0] for thread, name in said)

    wait_until(lambda: by_others() >= 2)
    assert loop not in said
    assert ros.do(node, node.trigger_configure) == DONE
    wait_until(lambda: said.count(loop) >= 2)  # has begun, changes are over
    before = by_others()
    wait_until(lambda: said.count(loop) >= 6)
    assert by_others() <= before + 1
    names = ('device', 'loop', 'added_wrench', 'sensors', 'rendering', 'timing')
    assert all(node._diagnostics.status(name) is not None for name in names)
    assert ros.do(node, node.trigger_cleanup) == DONE
    before = by_others()
    wait_until(lambda: by_others() >= before + 2, 4.5)  # again and again


def test_a_call_of_the_device_that_hangs_is_said_within_a_second(ros, monkeypatch, tmp_path):
    save_calibration(nominal_calibration(), tmp_path / 'calibration.yaml')
    node, device, _ = renderer_in_memory(ros, monkeypatch, tmp_path)
    assert ros.do(node, node.trigger_configure) == DONE
    told = ros.listen(DiagnosticArray, '/diagnostics')

    def said():
        found = [s.message for m in told for s in m.status if s.name.endswith('renderer: device')]
        return bool(found) and found[-1] == HUNG

    wait_until(lambda: told)
    go, read = threading.Event(), device.read
    monkeypatch.setattr(device, 'read', lambda: go.wait(60.0) and read())
    try:
        wait_until(lambda: node._loop.hung)
        wait_until(said, 1.0)
    finally:
        go.set()
    wait_until(lambda: not said())


def edit(file, old, new):
    text = file.read_text(encoding='utf-8')
    assert text.count(old) == 1
    file.write_text(text.replace(old, new), encoding='utf-8')


def test_a_new_configuration_takes_the_robot_file_as_it_is_then(ros, monkeypatch, tmp_path):
    node, _, file = renderer_in_memory(ros, monkeypatch, tmp_path)
    assert ros.do(node, node.trigger_configure) == DONE
    before = node._control.haptics.loop
    assert before.law.setup.period == pytest.approx(1.0 / 500.0)
    assert ros.do(node, node.trigger_cleanup) == DONE
    reload = ros.call(Trigger, 'haptic_renderer/reload_calibration', Trigger.Request())
    assert not reload.success and 'not configured' in reload.message
    edit(file, 'rate: {value: 500 Hz,', 'rate: {value: 400 Hz,')
    edit(file, 'young: {value: 76.4 MPa,', 'young: {value: 60 MPa,')
    assert ros.do(node, node.trigger_configure) == DONE
    after = node._control.haptics.loop
    assert after.law.setup.period == pytest.approx(1.0 / 400.0)
    assert after.device.ports.ee[0, 0] > 1.1 * before.device.ports.ee[0, 0]  # softer


def test_what_is_loaded_for_an_autostart_is_used_once(ros, monkeypatch, tmp_path):
    node, _, _ = renderer_in_memory(ros, monkeypatch, tmp_path)
    loaded = []
    monkeypatch.setattr(node, '_load', lambda load=node._load: loaded.append(load()) or loaded[-1])
    ros.do(node, node.autostart)
    wait_until(lambda: node.active)
    assert [node._control.haptics] == loaded
    assert ros.do(node, node.trigger_deactivate) == DONE
    assert ros.do(node, node.trigger_cleanup) == DONE
    assert ros.do(node, node.trigger_configure) == DONE
    assert node._control.haptics is loaded[1]


def test_a_stop_is_answered_while_the_model_is_loaded(ros, monkeypatch, tmp_path):
    node, _, _ = renderer_in_memory(ros, monkeypatch, tmp_path)
    loading, go, load = threading.Event(), threading.Event(), node._load

    def slow(strict=False):
        loading.set()
        assert go.wait(60.0)
        return load(strict)

    monkeypatch.setattr(node, '_load', slow)
    ros.do(node, node.autostart)
    assert loading.wait(20.0)
    refused = ros.do(node, node.trigger_configure)  # by hand: not a second time, beside it
    assert refused != DONE and 'try again' in str(node.refusal)
    ros.do(node, node.autostart)
    try:
        answer = ros.call(Trigger, 'driver/stop', Trigger.Request())
        assert answer.success and 'model is being loaded' in answer.message
    finally:
        go.set()
    wait_until(lambda: not node.preparing)
    assert not node._starting.pending and not node.active  # a stop ends what had begun
    assert ros.call(Trigger, 'driver/clear_fault', Trigger.Request()).success
    wait_until(lambda: node._control is not None)  # and it goes on when a person says so


def test_a_connection_that_fails_takes_no_control_away(ros, monkeypatch, tmp_path):
    node, device, _ = renderer_in_memory(ros, monkeypatch, tmp_path)
    assert ros.do(node, node.trigger_configure) == DONE

    def refuse():
        raise DeviceLost('in use by process 1')

    monkeypatch.setattr(device, 'open', refuse)
    with pytest.raises(DeviceLost):
        ros.do(node, node.connect)
    assert node._control is node._loop.law


def held_reload(ros, node, monkeypatch):
    """Ask for a reload that has begun and ends when it may; return its answer and what lets it."""
    loading, go, load = threading.Event(), threading.Event(), node._load

    def slow(strict=False):
        loading.set()
        assert go.wait(60.0)
        return load(strict)

    client = ros.do(
        ros.client, ros.client.create_client, Trigger, 'haptic_renderer/reload_calibration'
    )
    assert client.wait_for_service(timeout_sec=20.0)
    with monkeypatch.context() as patch:
        patch.setattr(node, '_load', slow)
        answer = client.call_async(Trigger.Request())
        assert loading.wait(20.0)
    return answer, go


def test_a_stop_and_the_emergency_stop_are_heard_during_a_reload(ros, monkeypatch, tmp_path):
    node, _, _ = renderer_in_memory(ros, monkeypatch, tmp_path)
    assert ros.do(node, node.trigger_configure) == DONE
    assert ros.do(node, node.trigger_activate) == DONE
    before = node._control.haptics
    answer, go = held_reload(ros, node, monkeypatch)
    try:
        assert ros.call(Trigger, 'driver/stop', Trigger.Request()).success
        button = ros.do(ros.client, ros.client.create_publisher, Bool, 'estop', LATCHED)
        button.publish(Bool(data=True))
        wait_until(lambda: node._loop.safety.state is DeviceState.ESTOP)
        assert node._control.haptics is before
    finally:
        go.set()
    assert wait_for(answer).success
    assert node._control.haptics is not before


def test_a_reload_does_not_reach_a_later_configuration(ros, monkeypatch, tmp_path):
    node, _, _ = renderer_in_memory(ros, monkeypatch, tmp_path)
    assert ros.do(node, node.trigger_configure) == DONE
    answer, go = held_reload(ros, node, monkeypatch)
    try:
        assert ros.do(node, node.trigger_cleanup) == DONE
        assert ros.do(node, node.trigger_configure) == DONE
        now = node._control.haptics
    finally:
        go.set()
    assert not wait_for(answer).success
    assert node._control.haptics is now


def test_a_target_that_carries_the_stops_of_before_is_refused(ros, monkeypatch, tmp_path):
    node, _, _ = renderer_in_memory(ros, monkeypatch, tmp_path)
    assert ros.do(node, node.trigger_configure) == DONE
    taken, stops = [], node._latches.stops
    monkeypatch.setattr(node._control, 'move_motors', lambda *asked: taken.append(asked[-1]))
    names, codes = zip(*((a.name, a.quantity_code) for a in node._gate.actuators), strict=True)
    target = ActuatorCommand(name=names, quantity=codes, value=[0.0] * len(names))
    for carried in (stops + 1, stops, 0):
        target.stops = carried
        ros.do(node, node._on_target, target)
    assert taken == [True, False]
