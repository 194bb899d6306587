# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The kinematics solver in a session of its own, with and without a namespace."""

from geometry_msgs.msg import Pose, PoseStamped, Quaternion, TransformStamped, WrenchStamped
import numpy as np
import pytest
from rclpy.duration import Duration
from rclpy.qos import DurabilityPolicy, QoSProfile
from tf2_msgs.msg import TFMessage

from soro_kinematics import outputs
from soro_kinematics.node import KinematicsSolver
from soro_mechanics import load_robot
from soro_mechanics.core.status import Code
from soro_msgs.msg import ActuatorState, Configuration, Load
from soro_msgs.srv import CompareModels, ComputeJacobian, SolveForward, SolveInverse
from soro_node.conversions import pose_from_message, pose_to_message, wrench_to_message
from soro_node.frames import frames_for
from soro_node.inputs.external_wrench import wrench_at_tip
from soro_rigs.ros_session import RosSession, wait_until

ROBOT = 'spatial_cc'
ACTUATION = [0.5e5, 0.2e5, 0.1e5]
NAN = [float('nan')] * 3
LATCHED = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
PLACES = {'root': '', 'namespace': '/lab/arm'}


@pytest.fixture(scope='module')
def robot():
    return load_robot(ROBOT)


class Scene:
    """A solver and a driver's voice."""

    def __init__(self, ros, namespace, robot=ROBOT):
        self.ros = ros
        self.frames = frames_for(namespace)
        self.solver = ros.node(
            KinematicsSolver, namespace, robot=robot, state_timeout=2.0, wrench_timeout=2.0
        )
        assert ros.start(self.solver)
        self._states = ros.client.create_publisher(ActuatorState, 'actuator_state', 1)
        self._wrenches = ros.client.create_publisher(WrenchStamped, 'external_wrench', 1)
        self._timers = []

    def speak(self, **fields):
        """Publish this state at 50 Hz from now on."""
        self.silence()
        names = [a.name for a in self.solver._binding.description.actuators]
        base = {'name': names, 'quantity': [1] * 3, 'commanded': NAN, 'applied': NAN}
        state = ActuatorState(
            **{**base, 'measured': ACTUATION, 'flags': [0] * 3, 'device_state': 2, **fields}
        )

        def publish():
            state.header.stamp = self.ros.client.get_clock().now().to_msg()
            self._states.publish(state)

        self._timers.append(self.ros.client.create_timer(0.02, publish))

    def push(self, wrench, frame):
        message = WrenchStamped(wrench=wrench_to_message(np.array(wrench, dtype=float)))
        message.header.frame_id = frame
        timer = self.ros.client.create_timer(0.02, lambda: self._wrenches.publish(message))
        self._timers.append(timer)

    def silence(self):
        while self._timers:
            self.ros.client.destroy_timer(self._timers.pop())

    def call(self, kind, name, **fields):
        return self.ros.call(kind, f'kinematics_solver/{name}', kind.Request(**fields))

    def status(self, name):
        found = self.solver.diagnostics.status(name)
        return (None, '') if found is None else (found.level[0], found.message)


@pytest.fixture(params=list(PLACES.values()), ids=list(PLACES), scope='module')
def shared(request):
    with RosSession(request.param) as ros:
        yield Scene(ros, request.param)


@pytest.fixture
def scene(shared):
    yield shared
    shared.silence()


def test_measured_actuation_becomes_tip_pose_configuration_and_transforms(scene, robot):
    tips = scene.ros.listen(PoseStamped, 'tip_pose')
    shapes = scene.ros.listen(Configuration, 'configuration')
    ghosts = scene.ros.listen(Configuration, 'commanded_configuration')
    transforms = scene.ros.listen(TFMessage, '/tf')
    static = scene.ros.listen(TFMessage, '/tf_static', LATCHED)
    commanded = [0.1e5, 0.1e5, 0.1e5]
    scene.speak(commanded=commanded)
    wait_until(lambda: tips and shapes and ghosts and transforms and static)
    q, frames = robot.forward(ACTUATION), scene.frames
    assert pose_from_message(tips[-1].pose) == pytest.approx(q.tip, abs=1e-9)
    assert tips[-1].header.frame_id == frames.base_link
    shape = shapes[-1]
    assert (shape.origin, shape.model) == (Configuration.FROM_MEASUREMENT, 'constant_curvature')
    assert list(shape.actuation) == ACTUATION
    last = pose_from_message(shape.backbones[-1].poses[-1])
    assert last == pytest.approx(q.backbones[-1][-1], abs=1e-9)
    assert shape.header.stamp in [t.header.stamp for t in tips]  # the measurement's own stamp
    assert ghosts[-1].origin == Configuration.FROM_COMMAND
    assert list(ghosts[-1].actuation) == commanded
    by_child = {t.child_frame_id: t for t in transforms[-1].transforms}
    assert {frames.tip, frames.tip_aligned} <= set(by_child)
    aligned = by_child[frames.tip_aligned].transform
    assert (aligned.rotation.w, aligned.translation.z) == (1.0, pytest.approx(q.tip[2, 3]))
    assert [t.child_frame_id for m in static for t in m.transforms] == [frames.base_link]
    assert static[0].transforms[0].header.frame_id == 'world'


def test_applied_stands_in_for_a_missing_sensor(scene, robot):
    tips = scene.ros.listen(PoseStamped, 'tip_pose')
    measured = [ACTUATION[0], float('nan'), ACTUATION[2]]
    scene.speak(measured=measured, applied=[9e9, 0.7e5, 9e9])
    wait_until(lambda: tips)
    expected = robot.forward([ACTUATION[0], 0.7e5, ACTUATION[2]]).tip
    tips.clear()
    wait_until(lambda: tips)
    assert pose_from_message(tips[-1].pose) == pytest.approx(expected, abs=1e-9)


def test_a_state_that_no_model_computes_with_is_an_error_and_the_stream_goes_on(scene):
    tips = scene.ros.listen(PoseStamped, 'tip_pose')
    scene.speak(measured=[1e300] * 3, commanded=[1e300] * 3)
    wait_until(lambda: scene.status('solver')[0] == 2)
    assert 'actuation = ' in scene.status('solver')[1]
    scene.speak()
    wait_until(lambda: tips and scene.status('solver') == (0, 'solved'))


def test_nothing_is_published_without_a_known_state(scene):
    scene.speak(measured=NAN)
    wait_until(lambda: 'neither measured' in scene.status('actuator_state')[1])
    tips = scene.ros.listen(PoseStamped, 'tip_pose')
    scene.speak(name=['a', 'b', 'c'])
    wait_until(lambda: 'actuator_1' in scene.status('actuator_state')[1])
    assert tips == []
    scene.speak()
    wait_until(lambda: tips)
    scene.silence()
    wait_until(lambda: scene.status('actuator_state') == (3, 'no actuator_state'))


def test_wrenches_are_brought_to_the_tip_from_three_frames(scene, robot):
    wrench = [0.1, -0.2, 0.15, 0.001, 0.0, 0.002]
    for frame in (scene.frames.tip_aligned, scene.frames.tip, scene.frames.base_link):
        shapes = scene.ros.listen(Configuration, 'configuration')
        scene.speak()
        scene.push(wrench, frame)

        def settled(shapes=shapes):
            return len(shapes) > 15 and shapes[-1].wrench.force.x != 0.0

        wait_until(settled)
        w = shapes[-1].wrench
        found = [w.force.x, w.force.y, w.force.z, w.torque.x, w.torque.y, w.torque.z]
        tip = pose_from_message(shapes[-1].tip)
        expected = wrench_at_tip(np.array(wrench), frame, scene.frames, tip)
        assert found == pytest.approx(expected, abs=1e-6)


def test_a_wrench_in_another_frame_is_refused_and_named(scene):
    scene.speak()
    scene.push([1.0, 0, 0, 0, 0, 0], 'map')
    both = ("'map'", repr(scene.frames.base_link))
    wait_until(lambda: all(name in scene.status('external_wrench')[1] for name in both))


def test_forward_is_the_librarys(scene, robot):
    load = Load(axes=Load.BASE_AXES)
    load.wrench.force.x = 0.1
    answer = scene.call(
        SolveForward,
        'solve_forward',
        loads=[load],
        actuator_name=['actuator_3', 'actuator_1', 'actuator_2'],
        actuation=[ACTUATION[2], ACTUATION[0], ACTUATION[1]],
    )
    if answer.error_code == Code.UNSUPPORTED:  # this model has no loads beside the tip wrench
        answer = scene.call(SolveForward, 'solve_forward', actuation=ACTUATION)
        expected = robot.forward(ACTUATION)
    else:
        from soro_mechanics.core.configuration import Load as NumpyLoad

        expected = robot.forward(ACTUATION, loads=[NumpyLoad(np.array([0.1, 0, 0, 0, 0, 0]))])
    assert answer.error_code == Code.NONE
    assert pose_from_message(answer.configuration.tip) == pytest.approx(expected.tip, abs=1e-9)
    assert answer.configuration.origin == Configuration.FROM_REQUEST
    assert answer.configuration.header.frame_id == scene.frames.base_link


def test_inverse_comes_back_to_the_actuation(scene, robot):
    target = PoseStamped(pose=pose_to_message(robot.forward(ACTUATION).tip))
    for frame in ('', scene.frames.base_link):
        target.header.frame_id = frame
        for guess in ([], [0.1e5] * 3):
            answer = scene.call(SolveInverse, 'solve_inverse', target=target, guess=guess)
            assert answer.error_code == Code.NONE, answer.error_message
            assert answer.position_error < 1e-5
            reached = robot.forward(answer.actuation).tip[:3, 3]
            p = target.pose.position
            assert np.linalg.norm(reached - [p.x, p.y, p.z]) < 1e-5


def test_a_target_is_taken_where_its_frame_was_at_its_stamp(scene, robot):
    tip, stamp = robot.forward(ACTUATION).tip[:3, 3], scene.ros.client.get_clock().now()
    tf = scene.ros.client.create_publisher(TFMessage, '/tf', 10)
    wait_until(lambda: tf.get_subscription_count())
    moved = TransformStamped(child_frame_id='cart')
    moved.header.frame_id = scene.frames.base_link
    for seconds, x in ((-0.1, 0.2), (0.1, 0.3)):
        moved.header.stamp = (stamp + Duration(nanoseconds=round(seconds * 1e9))).to_msg()
        moved.transform.translation.x = x
        tf.publish(TFMessage(transforms=[moved]))
    target = PoseStamped(pose=pose_to_message(np.eye(4)))
    target.header.stamp, target.header.frame_id = stamp.to_msg(), 'cart'
    p = target.pose.position
    p.x, p.y, p.z = (tip - [0.25, 0.0, 0.0]).tolist()
    answer = scene.call(SolveInverse, 'solve_inverse', target=target)
    assert answer.error_code == Code.NONE, answer.error_message
    assert robot.forward(answer.actuation).tip[:3, 3] == pytest.approx(tip, abs=2e-5)
    target.header.stamp = (stamp + Duration(seconds=9)).to_msg()
    answer = scene.call(SolveInverse, 'solve_inverse', target=target)
    assert answer.error_code == Code.UNKNOWN_FRAME
    assert all(repr(f) in answer.error_message for f in ('cart', scene.frames.base_link))


def test_an_unreachable_target_says_so_and_gives_the_nearest(scene, robot):
    target = PoseStamped()
    target.pose.position.z = 5.0
    answer = scene.call(SolveInverse, 'solve_inverse', target=target)
    assert answer.error_code in (Code.UNREACHABLE, Code.AT_LIMIT)
    assert answer.error_message.count('mm') == 1
    assert answer.position_error > 4.0
    assert robot.feasible(answer.actuation)


def test_jacobian_is_the_finite_difference(scene, robot):
    answer = scene.call(ComputeJacobian, 'compute_jacobian', actuation=ACTUATION)
    matrix = np.array(answer.matrix).reshape(6, 3)
    step = 10.0
    for k in range(3):
        plus, minus = np.array(ACTUATION), np.array(ACTUATION)
        plus[k] += step
        minus[k] -= step
        slope = (robot.forward(plus).tip[:3, 3] - robot.forward(minus).tip[:3, 3]) / (2 * step)
        assert matrix[:3, k] == pytest.approx(slope, rel=1e-5, abs=1e-12)
    scene.speak()
    wait_until(lambda: scene.call(ComputeJacobian, 'compute_jacobian').error_code == Code.NONE)


def test_the_present_jacobian_is_under_the_external_wrench(scene, robot):
    wrench = np.array([0.2, 0.0, -0.1, 0.0, 0.001, 0.0])
    shapes = scene.ros.listen(Configuration, 'configuration')
    scene.speak()
    scene.push(wrench, scene.frames.tip)
    wait_until(lambda: len(shapes) > 15 and shapes[-1].wrench.force.x != 0.0)
    answer = scene.call(ComputeJacobian, 'compute_jacobian')
    there = wrench_at_tip(
        wrench, scene.frames.tip, scene.frames, pose_from_message(shapes[-1].tip)
    )
    q = robot.forward(ACTUATION, there)
    expected, unloaded = robot.jacobian(q), robot.jacobian(robot.forward(ACTUATION))
    error = np.abs(np.reshape(answer.matrix, expected.shape) - expected).max()
    assert error < 0.01 * np.abs(expected - unloaded).max()


def test_diagnostics_know_an_old_wrench_and_a_node_that_does_not_listen(scene):
    scene.push(np.zeros(6), scene.frames.tip_aligned)
    wait_until(lambda: scene.status('external_wrench') == (0, 'used'))
    scene.silence()
    wait_until(lambda: scene.status('external_wrench') == (1, 'older than 2 s: counts as zero'))
    scene.ros.do(scene.solver, scene.solver.trigger_deactivate)
    for name in ('solver', 'actuator_state', 'external_wrench'):
        assert scene.status(name) == (0, 'inactive')
    scene.ros.do(scene.solver, scene.solver.trigger_activate)


def test_wrong_requests_have_codes(scene):
    nan = float('nan')
    target = PoseStamped()
    target.pose.orientation.x = 5.0
    unturned = PoseStamped(pose=Pose(orientation=Quaternion(w=0.0)))
    framed = PoseStamped()
    framed.header.frame_id = 'map'
    wait_until(lambda: scene.solver._feedback.fresh() is None)
    for kind, name, fields, code in (
        (SolveForward, 'solve_forward', {'actuation': [1.0]}, Code.INVALID_SIZE),
        (SolveForward, 'solve_forward', {'actuation': [nan, 0.0, 0.0]}, Code.NOT_FINITE),
        (SolveForward, 'solve_forward', {'actuation': ACTUATION, 'model': 'x'}, 104),
        (
            SolveForward,
            'solve_forward',
            {'actuation': ACTUATION, 'actuator_name': ['a', 'b', 'c']},
            Code.UNKNOWN_NAME,
        ),
        (
            SolveForward,
            'solve_forward',
            {'actuation': ACTUATION, 'loads': [Load(axes=9)]},
            Code.OUT_OF_RANGE,
        ),
        (SolveInverse, 'solve_inverse', {'target': target}, Code.OUT_OF_RANGE),
        (SolveInverse, 'solve_inverse', {'target': framed}, Code.UNKNOWN_FRAME),
        (SolveInverse, 'solve_inverse', {'target': unturned, 'task': 2}, Code.OUT_OF_RANGE),
        (SolveInverse, 'solve_inverse', {'task': 7}, Code.OUT_OF_RANGE),
        (SolveInverse, 'solve_inverse', {'position_tolerance': -1.0}, Code.OUT_OF_RANGE),
        (SolveInverse, 'solve_inverse', {'guess': [0.0]}, Code.INVALID_SIZE),
        (ComputeJacobian, 'compute_jacobian', {}, Code.NO_STATE),
        (CompareModels, 'compare_models', {'actuation': ACTUATION, 'models': ['x']}, 104),
    ):
        answer = scene.call(kind, name, **fields)
        assert answer.error_code == code, (name, fields, answer.error_message)
        assert answer.error_message


def test_models_are_compared(scene):
    answer = scene.call(CompareModels, 'compare_models', actuation=ACTUATION)
    assert answer.error_code == Code.NONE
    assert [c.model for c in answer.configurations] == list(load_robot('spatial_cc').models)
    tips = np.array(
        [[c.tip.position.x, c.tip.position.y, c.tip.position.z] for c in answer.configurations]
    )
    assert answer.position_spread == pytest.approx(np.linalg.norm(tips[0] - tips[1]), abs=1e-9)


def test_one_model_alone_has_nothing_to_be_compared_with(scene):
    asked = {'actuation': ACTUATION, 'models': ['constant_curvature']}
    answer = scene.call(CompareModels, 'compare_models', **asked)
    assert answer.error_code == Code.NONE
    assert 'fewer than two' in answer.hint


def test_gravity_and_model_are_live_parameters(scene):
    from rclpy.parameter import Parameter

    def change(name, value):
        return scene.solver.set_parameters([Parameter(name, value=value)])[0]

    assert change('gravity', [0.0, 0.0, 9.81]).successful
    assert scene.solver._binding.robot.gravity == pytest.approx([0.0, 0.0, 9.81])
    assert change('gravity', []).successful
    assert scene.solver._binding.robot.gravity == pytest.approx([0.0, 0.0, -9.81])
    assert not change('gravity', [0.0, 1.0]).successful
    assert not change('gravity', [0.0, float('nan'), 0.0]).successful
    refused = change('model', 'ncn')
    assert not refused.successful and 'constant_curvature' in refused.reason
    assert not change('robot', 'stiff_flop').successful  # at start only


def test_inactive_answers_that_it_is(scene):
    scene.solver.trigger_deactivate()
    answer = scene.call(SolveForward, 'solve_forward', actuation=ACTUATION)
    assert answer.error_code == Code.NOT_ACTIVE
    tips = scene.ros.listen(PoseStamped, 'tip_pose')
    scene.speak()
    scene.solver.trigger_activate()
    wait_until(lambda: tips)


def test_a_stream_without_solutions_is_an_error_until_it_has_some_again():
    with RosSession('/lab/soft') as ros:
        scene = Scene(ros, '/lab/soft', 'stiff_flop')
        tips = ros.listen(PoseStamped, 'tip_pose')
        scene.speak()
        wait_until(lambda: tips and scene.status('solver') == (0, 'solved'))
        scene.push([100.0, 0, 0, 0, 0, 0], scene.frames.base_link)
        wait_until(lambda: scene.status('solver')[0] == 2)
        found = scene.solver.diagnostics.status('solver')
        values = {v.key: v.value for v in found.values}
        assert found.message == 'the loads found no equilibrium'
        assert values['code'] == 'NOT_CONVERGED'
        assert values['residual'] == 'inf'
        assert values['actuation'] == str(ACTUATION)
        assert values['wrench'].startswith('[100.0, 0.0, 0.0, ')
        scene.silence()
        scene.speak()  # the wrench is over after its timeout
        tips.clear()
        wait_until(lambda: tips and scene.status('solver') == (0, 'solved'))
        scene.silence()


def test_a_pose_that_nobody_hears_is_no_message_until_somebody_does(monkeypatch):
    made, message = [], outputs.tip_pose_message
    monkeypatch.setattr(outputs, 'tip_pose_message', lambda *a: made.append(a) or message(*a))
    with RosSession('/lab/quiet') as ros:
        scene = Scene(ros, '/lab/quiet')
        scene.speak()
        wait_until(lambda: scene.status('solver') == (0, 'solved'))
        assert not made
        tips = ros.listen(PoseStamped, 'tip_pose')
        wait_until(lambda: tips)
        scene.silence()


def test_what_a_search_begins_from_is_solved_before_anybody_asks(scene):
    others = scene.solver._binding.robot._others
    wait_until(lambda: others._known is not None)
