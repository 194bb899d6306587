# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The node between topics and page, with stand-ins for driver, solver and compliance."""

from __future__ import annotations

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from fixed_shapes import NAMES, straight
from geometry_msgs.msg import PoseStamped
from interactive_stand_in import feedback, StandIn
import numpy as np
import pytest
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import MarkerArray

from soro_msgs.msg import ActuatorCommand, ActuatorState, Configuration, TipTarget
from soro_msgs.srv import ComputeCompliance, SolveForward, SolveInverse
from soro_rigs.page_client import PageClient
from soro_rigs.ros_session import RosSession, wait_until
from soro_visualization.drawing.markers import OLD
from soro_visualization.node import Visualization
from soro_visualization.page.readout import why_still

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)

LINK = '<link name="arm/base_link">{}</link>'
MESH = f'<robot name="r">{LINK}</robot>'.format(
    '<visual><geometry><mesh filename="a.stl"/></geometry></visual>'
)
JOINT = (
    f'<robot name="r">{LINK.format("")}<link name="arm/wheel"/><joint name="j" type="continuous">'
    '<parent link="arm/base_link"/><child link="arm/wheel"/></joint></robot>'
)


class Rig:
    """The node, and everything it talks to."""

    def __init__(self, ros, namespace='/arm', **parameters):
        self.ros = ros
        self.node = ros.node(Visualization, namespace, robot='stiff_flop', **parameters)
        assert ros.start(self.node)
        client = ros.client
        self.configuration = client.create_publisher(
            Configuration, f'{namespace}/configuration', 5
        )
        self.state = client.create_publisher(ActuatorState, f'{namespace}/actuator_state', 10)
        self.poses = ros.listen(TipTarget, f'{namespace}/tip_target')
        self.without_task = ros.listen(PoseStamped, f'{namespace}/target_pose')
        self.actuations = ros.listen(ActuatorCommand, f'{namespace}/target_actuation')
        self.diagnostics = client.create_publisher(DiagnosticArray, '/diagnostics', 10)
        self.stops, self.requests = [], []
        client.create_service(Trigger, f'{namespace}/driver/stop', self._stop)
        client.create_service(
            SolveInverse, f'{namespace}/kinematics_solver/solve_inverse', self._solve
        )
        client.create_service(
            ComputeCompliance, f'{namespace}/compliance/compute_compliance', self._compliance
        )
        self.compliance_asked = 0
        self.timer = client.create_timer(0.05, self._speak)
        self.tip_z, self.solver, self.state_stops, self.driven = 0.04, True, 0, True
        self.device_state, self.solved = ActuatorState.ACTIVE, 202

    def _speak(self):
        if self.solver:
            self.configuration.publish(straight(self.tip_z))
        if not self.driven:
            return
        self.state.publish(
            ActuatorState(
                name=NAMES[::-1],
                quantity=[1] * 3,
                commanded=[0.0] * 3,
                applied=[1e4, 0.0, 0.0],
                measured=[1e4, 0.0, 0.0],
                flags=[0] * 3,
                device_state=self.device_state,
                stops=self.state_stops,
            )
        )

    def _stop(self, request, response):
        self.stops.append(request)
        response.success, response.message = True, 'venting'
        return response

    def _solve(self, request, response):
        self.requests.append(request)
        response.error_code, response.at_limit = self.solved, ['pair_2']
        response.position_error = 0.0025
        response.configuration = straight(0.03)
        return response

    def _compliance(self, request, response):
        self.compliance_asked += request.along_backbone
        return response


@pytest.fixture(scope='module')
def rig():
    with RosSession() as ros:
        yield Rig(ros)


@pytest.fixture
def page(rig):
    with PageClient(rig.node.address) as page:
        page.wait(lambda: '/target' in page.scene and 'STOP' in page.gui, 20.0, 'robot')
        yield page


def test_the_page_shows_what_the_topics_say(rig, page):
    page.wait(lambda: 'ACTIVE' in page.text(), 10.0, 'state')
    # names came in another order than the robot file has
    page.wait(lambda: page.gui['pair_3 [bar]']['value'] == pytest.approx(0.1), 10.0, 'sliders')
    rig.tip_z = 0.05
    scale = rig.node._viewer.scene.zoom
    page.wait(
        lambda: page.scene['/tip']['position'][2] == pytest.approx(0.05 * scale), 10.0, 'motion'
    )
    rig.tip_z = 0.04


def test_a_slider_becomes_a_target_of_all_actuators(rig, page):
    rig.actuations.clear()
    page.set('pair_2 [bar]', 0.5)
    wait_until(lambda: rig.actuations)
    message = rig.actuations[-1]
    assert list(message.name) == NAMES and list(message.quantity) == [1, 1, 1]
    assert message.value[1] == pytest.approx(5e4)
    assert message.source == '/arm/visualization'


def test_dragging_solves_shows_and_sends(rig, page):
    rig.poses.clear()
    rig.requests.clear()
    scale = rig.node._viewer.scene.zoom
    page.drag('/target', (0.2, 0.0, 0.8))
    wait_until(lambda: rig.poses and rig.requests)
    wait_until(lambda: rig.poses[-1].pose.position.x == pytest.approx(0.2 / scale))
    assert rig.poses[-1].header.frame_id == 'arm/base_link'
    page.wait(lambda: 'AT_LIMIT (pair_2)' in page.text(), 10.0, 'answer')
    assert '2.5 mm' in page.text()
    page.wait(lambda: '/solution' in page.scene, 5.0, 'nearest shape')


def test_a_solver_that_falls_silent_is_said_and_what_comes_back_is_live(rig, page):
    page.wait(lambda: 'solved' in page.text(), 10.0, 'status')
    rig.solver = False
    page.wait(lambda: 'no configuration' in page.text(), 10.0, 'silence')
    page.wait(lambda: page.scene['/target'].get('visible') is False, 5.0, 'hidden target')
    rig.solver = True
    page.wait(lambda: 'no configuration' not in page.text(), 10.0, 'solver')
    page.wait(lambda: page.scene['/target'].get('visible') is True, 5.0, 'target')


def test_words_of_a_node_that_is_gone_are_shown_no_longer(rig, page):
    status = DiagnosticStatus(name='/arm/trajectory_planner: stream', message='following a path')
    rig.diagnostics.publish(DiagnosticArray(status=[status]))
    page.wait(lambda: 'following a path' in page.text(), 10.0, 'words')
    page.wait(lambda: 'following a path' not in page.text(), 20.0, 'end of the words')


def test_without_following_nothing_is_sent(rig, page):
    page.set('robot follows', False)
    page.receive(0.3)
    rig.poses.clear()
    rig.requests.clear()
    page.drag('/target', (0.1, 0.1, 0.8))
    wait_until(lambda: rig.requests)
    page.receive(0.3)
    assert not rig.poses
    page.set('robot follows', True)


def test_stop_calls_the_driver(rig, page):
    page.press('STOP')
    wait_until(lambda: rig.stops)
    page.wait(lambda: 'venting' in page.text(), 10.0, 'answer')


def test_ellipsoids_are_asked_for_only_while_looked_at(rig, page):
    assert rig.compliance_asked == 0
    page.set('compliance ellipsoids', True)
    page.wait(lambda: rig.compliance_asked >= 2, 20.0, 'requests')
    rig.solver = False
    wait_until(lambda: not ellipsoids_wanted(rig))
    rig.solver = True
    wait_until(lambda: ellipsoids_wanted(rig))
    page.set('compliance ellipsoids', False)
    page.wait(lambda: not ellipsoids_wanted(rig), 10.0, 'end')
    page.set('compliance ellipsoids', True)
    page.wait(lambda: ellipsoids_wanted(rig), 10.0, 'begin')
    page.__exit__()  # the box stays ticked, the page is closed
    wait_until(lambda: not ellipsoids_wanted(rig))


def ellipsoids_wanted(rig):
    return rig.node.ellipsoids_wanted


@pytest.mark.parametrize(
    ('said', 'word'), [('true', 'EMULATOR'), ('false', 'HARDWARE<'), (None, 'HARDWARE?')]
)
def test_the_badge_is_what_the_driver_says_of_itself(rig, page, said, word):
    values = [] if said is None else [KeyValue(key='emulated', value=said)]
    status = DiagnosticStatus(name='/arm/driver: device', values=values)

    def shown():
        rig.diagnostics.publish(DiagnosticArray(status=[status]))
        return word in page.text()

    page.wait(shown, 15.0, word)


def test_messages_that_cannot_be_shown_end_nothing(rig, page):
    joints = rig.ros.client.create_publisher(JointState, '/arm/joint_states', 5)
    odd = straight()
    odd.backbones = []

    def spoken():
        for _ in range(2):
            rig.configuration.publish(odd)
            rig.state.publish(ActuatorState(name=NAMES))
            joints.publish(JointState(name=['a', 'b'], position=[np.inf]))
        return 'ACTIVE' not in page.text()

    rig.solver = rig.driven = False
    page.wait(spoken, 10.0, 'silence')
    rig.solver = rig.driven = True
    page.wait(lambda: 'ACTIVE' in page.text() and 'solved' in page.text(), 10.0, 'life')


def test_a_stop_of_somebody_else_ends_a_drag(rig, page):
    page.grab('/target')
    rig.poses.clear()
    page.pull('/target', (0.2, 0.0, 0.8))
    wait_until(lambda: rig.poses)
    rig.state_stops += 1
    wait_until(lambda: rig.node._viewer._dragging is None)
    rig.stops.clear()
    page.pull('/target', (0.3, 0.0, 0.7))
    page.press('STOP')  # comes after it
    wait_until(lambda: rig.stops)
    scale = rig.node._viewer.scene.zoom
    assert all(m.pose.position.x == pytest.approx(0.2 / scale) for m in rig.poses)


def test_a_drag_in_rviz_leaves_the_task_and_ends_with_a_stop_and_with_silence(monkeypatch):
    server = StandIn()
    server.shutdown = lambda: None
    monkeypatch.setattr('soro_visualization.node.interactive_server', lambda node: server)
    with RosSession() as ros:
        rig = Rig(ros, '/leg', viewer=False)
        wait_until(lambda: rig.node._snapshot.shape is not None)
        assert not server.inserted  # nobody would take its targets
        name = 'trajectory_planner/release'
        ros.client.create_service(Trigger, f'/leg/{name}', lambda asked, answer: answer)
        wait_until(lambda: server.inserted)
        server.callback(feedback('MOUSE_DOWN'))
        server.callback(feedback('POSE_UPDATE'))
        wait_until(lambda: rig.without_task)
        standing = len(server.poses)
        rig.state_stops += 1
        wait_until(lambda: len(server.poses) > standing)
        rig.without_task.clear()
        server.callback(feedback('POSE_UPDATE'))
        assert rig.node._requests._waiting_pose is None
        server.callback(feedback('MOUSE_UP'))
        rig.device_state, rig.solved = ActuatorState.FAULT, 0  # reachable, and nobody goes there
        wait_until(lambda: why_still(rig.node._snapshot))
        for kind in ('MOUSE_DOWN', 'POSE_UPDATE', 'MOUSE_UP'):
            server.callback(feedback(kind))
        wait_until(lambda: 'refused: FAULT' in server.inserted[-1].description)
        standing = len(server.poses)
        wait_until(lambda: len(server.poses) > standing)  # it is at the tip again
        rig.device_state = ActuatorState.ACTIVE
        wait_until(lambda: not why_still(rig.node._snapshot))
        rig.without_task.clear()
        rig.solver, shown = False, len(server.inserted)
        wait_until(lambda: len(server.inserted) < shown)
        rig.solver = True
        wait_until(lambda: len(server.inserted) == shown)
        assert not rig.without_task


def test_a_description_that_cannot_be_read_is_no_reason_to_have_no_stop(tmp_path):
    for name, text in (('mesh', MESH), ('joint', JOINT), ('no_xml', 'not <xml')):
        file = tmp_path / f'{name}.urdf.xacro'
        file.write_text(text)
        with RosSession() as ros:
            node = ros.node(
                Visualization, '/leg', robot='stiff_flop', urdf=str(file), frame_prefix='arm/'
            )
            assert ros.start(node)
            assert node.address
            assert node._parts is None


def test_markers_and_description_are_published():
    with RosSession() as ros:
        rig = Rig(ros, '/leg', viewer=False)
        assert rig.node.address == ''
        arrays = ros.listen(MarkerArray, '/leg/markers')
        wait_until(lambda: arrays)
        assert {m.header.frame_id for m in arrays[-1].markers} == {'leg/base_link'}
        assert {m.ns for m in arrays[-1].markers} == {'backbone', 'chambers'}
        rig.solver = False
        wait_until(lambda: arrays[-1].markers[0].color.r == pytest.approx(OLD.r))
        rig.solver = True
        wait_until(lambda: arrays[-1].markers[0].color.r != pytest.approx(OLD.r))
        texts = ros.listen(String, '/leg/robot_description', LATCHED)
        fixed = ros.listen(TFMessage, '/tf_static', LATCHED)
        wait_until(lambda: texts)
        assert '<link name="leg/base_link">' in texts[0].data
        for transform in (t for m in fixed for t in m.transforms):
            assert transform.header.frame_id.startswith('leg/')


def test_a_cloud_is_read_whatever_else_is_in_it():
    from sensor_msgs.msg import PointCloud2, PointField

    from soro_visualization.drawing.cloud import read_cloud

    rows = np.array(
        [[1, 2, 3, 9, 0.5], [4, 5, 6, 9, np.nan], [np.nan, 0, 0, 9, 1], [7, 8, 9, 9, -1]], '<f4'
    )
    message = PointCloud2(height=1, width=4, point_step=20, row_step=80)
    message.fields = [
        PointField(name=n, offset=o, datatype=7, count=1)
        for n, o in (('x', 0), ('y', 4), ('z', 8), ('max_compliance', 16))
    ]
    message.data.frombytes(rows.tobytes())
    points, compliance = read_cloud(message)
    assert points.tolist() == [[1.0, 2.0, 3.0]] and compliance.tolist() == [0.5]
    message.fields = message.fields[:3]
    points, compliance = read_cloud(message)
    assert len(points) == 3 and compliance is None
    message.width = 5
    with pytest.raises(ValueError, match='too few'):
        read_cloud(message)
    message.fields = message.fields[:2]
    with pytest.raises(ValueError, match='x, y and z'):
        read_cloud(message)


def test_rviz_without_a_page_may_ask_for_ellipsoids():
    with RosSession() as ros:
        rig = Rig(ros, '/rviz', viewer=False)  # the other one still asks under /arm
        markers = ros.listen(MarkerArray, '/rviz/markers')
        wait_until(lambda: len(markers) > 3)
        assert rig.compliance_asked == 0
        on = Parameter('ellipsoids', value=True)
        (result,) = ros.do(rig.node, rig.node.set_parameters, [on])
        assert result.successful, result.reason
        wait_until(lambda: rig.compliance_asked >= 2)


def test_before_anybody_says_where_the_robot_is_it_is_drawn_at_rest():
    with RosSession() as ros:
        asked = []

        def forward(request, response):
            asked.append(list(request.actuation))
            response.configuration = straight(0.04)
            return response

        name = '/waiting/kinematics_solver/solve_forward'
        ros.client.create_service(SolveForward, name, forward)
        node = ros.node(Visualization, '/waiting', robot='stiff_flop')
        assert ros.start(node)
        with PageClient(node.address) as page:
            page.wait(lambda: '/tip' in page.scene, 20.0, 'the robot at rest')
            page.wait(lambda: 'drawn at rest' in page.text(), 10.0, 'the banner')
            assert '/target' not in page.scene or not page.scene['/target'].get('visible', True)
        assert asked == [[0.0, 0.0, 0.0]]
