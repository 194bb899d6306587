# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Node ``visualization``: what people see of a robot, and the targets they drag."""

from __future__ import annotations

from collections.abc import Callable
import time
from typing import Any, TypeVar

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import TransformStamped
from nav_msgs.msg import Path
import numpy as np
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState, PointCloud2
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import MarkerArray

from soro_msgs.msg import ActuatorState, Configuration
from soro_node.conversions import transform_to_message
from soro_node.diagnostics import Diagnostics, Level
from soro_node.executor.clock_watch import steady_timer
from soro_node.executor.polled_subscriptions import PolledSubscriptions
from soro_node.frames import frames_for
from soro_node.lifecycle import autostart_parameter, GuardedLifecycleNode
from soro_node.main import LAST, run
from soro_node.parameters import fixed, Parameter, ParameterTable
from soro_node.qos import LATCHED, LOSSY
from soro_node.robot_binding import read_description, ROBOT_PARAMETERS
from soro_visualization.description_file import expand, find_description
from soro_visualization.drawing.cloud import read_cloud
from soro_visualization.drawing.ellipsoids import chosen, Ellipsoids, ellipsoids
from soro_visualization.drawing.fitting_markers import FittingMarkers
from soro_visualization.drawing.markers import Markers
from soro_visualization.drawing.muscles import muscles_of
from soro_visualization.drawing.rigid_parts import read_urdf, RigidParts, turn, UrdfError
from soro_visualization.drawing.shape import path_positions, Shape, shape_from_message
from soro_visualization.interactive_target import interactive_server, InteractiveTarget
from soro_visualization.ownership import Ownership
from soro_visualization.page.readout import (
    angles_from_message,
    emulated_from_statuses,
    readout_from_message,
    Snapshot,
    why_still,
)
from soro_visualization.reading import read_or_warn
from soro_visualization.robot_requests import RobotRequests

T = TypeVar('T')
REPORTS = QoSProfile(depth=50, reliability=ReliabilityPolicy.BEST_EFFORT)
LOOPBACK = '127.0.0.1'
PER_RADIUS = 8.4  # extent of the arrows around a thick robot: they then stand outside its tube
GHOST_PERIOD = 0.5  # s without a commanded configuration after which the ghost goes
REST_PERIOD = 1.0  # s between two requests for the shape at rest, before there is any other
WORDS_TIMEOUT = 3.0  # s; nodes repeat their diagnostics every second

PARAMETERS = (
    autostart_parameter(),
    *(p for p in ROBOT_PARAMETERS if p.name in ('robot', 'frame_prefix')),
    fixed('viewer', True, '', 'serve the browser viewer'),
    Parameter(
        'host', LOOPBACK, '', 'address the viewer binds to; any other than loopback lets everyone '
        'on the network move the robot', read_only=True,
    ),
    Parameter(
        'port', 0, '', 'TCP port of the viewer; 0: derived from namespace, domain and user; where '
        'it is taken, the next free one', minimum=0, maximum=65535, read_only=True,
    ),
    fixed('rate', 30.0, 'Hz', 'pictures per second in the viewer', minimum=1.0, maximum=60.0),
    Parameter(
        'marker_rate', 15.0, 'Hz', 'rate of markers, while somebody listens, and of the ghost',
        minimum=1.0, maximum=60.0,
    ),
    Parameter(
        'compliance_period', 0.5, 's', 'between two requests for compliance ellipsoids, while '
        'they are looked at', minimum=0.05, maximum=60.0,
    ),
    Parameter(
        'ellipsoids', False, '', 'ask for compliance ellipsoids while somebody listens to the '
        'markers, also when their box is ticked on no page (RViz alone)',
    ),
    Parameter(
        'state_timeout', 0.5, 's', 'driver or solver are shown as silent when their last '
        'actuator_state or configuration came longer ago than this', minimum=0.01,
    ),
    fixed('history', 30.0, 's', 'length of the plots', minimum=1.0, maximum=600.0),
    fixed('urdf', '', '', 'xacro file of the rigid parts; if there is none, that of the robot'),
    Parameter(
        'publish_description', True, '', 'publish robot_description and the transforms of fixed '
        'and driven links; false where robot_state_publisher does', read_only=True,
    ),
)  # fmt: skip


class Visualization(GuardedLifecycleNode):
    """Shows one robot: markers, description, interactive target, browser viewer."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__('visualization', **kwargs)
        self.table = ParameterTable(self, PARAMETERS)
        self.diagnostics = Diagnostics(self)
        self._markers_out = self.create_publisher(MarkerArray, 'markers', 5)
        self._urdf_out = self.create_publisher(String, 'robot_description', LATCHED)
        self._tf = self.create_publisher(TFMessage, '/tf', 50)
        self._tf_static = self.create_publisher(TFMessage, '/tf_static', LATCHED)
        self._viewer: Any = None
        self._requests: RobotRequests | None = None
        self._target: InteractiveTarget | None = None
        self._polled = PolledSubscriptions(self)
        self._timer: Any = None

    @property
    def address(self) -> str:
        """Of the viewer; empty where none is served."""
        return '' if self._viewer is None else self._viewer.address

    def configure(self) -> None:
        """Read the robot file and the rigid parts."""
        self._description = read_description(self.table)
        self._frames = frames_for(self.get_namespace(), self.table.frame_prefix)
        self._parts: RigidParts | None = None
        self._urdf = ''
        file = find_description(self._description.name, self.table.urdf)
        if file is not None:
            try:
                self._urdf = expand(file, self._frames.prefix)
                self._parts = read_urdf(self._urdf, self._frames.prefix)
            except UrdfError as error:  # STOP and everything else work without rigid parts
                self.get_logger().warning(f'{error}; shown without these rigid parts')
        self._markers = Markers(
            self._frames.base_link,
            muscles_of(self._description),
            FittingMarkers(self._description, self._parts),
        )
        self._snapshot = Snapshot()
        self._ownership = Ownership()
        self._ellipsoids: Ellipsoids | None = None
        self._state_at = self._shape_at = self._ghost_at = -np.inf
        self._words_at: dict[str, float] = {}
        self._statuses: dict[str, Any] = {}  # what `words` are from
        self._stamp: Any = None
        self._markers_due = self._ghost_due = self._compliance_due = self._rest_due = 0.0
        self._drawn_silent = False
        self.diagnostics.report('viewer', Level.OK, 'inactive')

    def activate(self) -> None:
        """Listen, serve the viewer, and begin to draw."""
        self._requests = RobotRequests(self, self._description, self._frames, self._answered)
        for kind, topic, qos in (
            (Configuration, 'configuration', LOSSY),
            (ActuatorState, 'actuator_state', LOSSY),
            (PointCloud2, 'workspace', LATCHED),
            (Path, 'desired_path', LATCHED),
            (Path, 'actual_path', LOSSY),
            (DiagnosticArray, '/diagnostics', REPORTS),
        ):
            self._polled.open(kind, topic, qos)
        joints = () if self._parts is None else self._parts.joints.values()
        if any(joint.kind == 'revolute' for joint in joints):
            self._polled.open(JointState, 'joint_states', LOSSY)
        if self.table.publish_description and self._urdf:
            self._urdf_out.publish(String(data=self._urdf))
        if self.table.publish_description and self._parts is not None:
            self._publish_links('fixed', self._tf_static)
        server = interactive_server(self)
        if server is not None:
            self._target = InteractiveTarget(
                server,
                self._frames.base_link,
                lambda pose: self._requests.move_to(pose, self._task(), True),
            )
            self._requests.on_end = self._target.let_go
        if self.table.viewer:
            self._serve()
        self._timer = steady_timer(self, 1.0 / self.table.rate, self._on_timer)

    def deactivate(self) -> None:
        """Close the viewer and stop drawing."""
        self.stop_outputs()
        self.diagnostics.report('viewer', Level.OK, 'inactive')

    def stop_outputs(self) -> None:
        """Close the viewer and stop drawing."""
        if self._timer is not None:
            self.destroy_timer(self._timer)
            self._timer = None
        viewer, self._viewer = self._viewer, None
        if viewer is not None:
            viewer.close()
        target, self._target = self._target, None
        if target is not None:
            target.close()
        self._polled.close_all()
        requests, self._requests = self._requests, None
        if requests is not None:
            requests.destroy()

    def _serve(self) -> None:
        from soro_visualization.page.viewer import derived_port, Viewer

        port = self.table.port or derived_port(self.get_namespace())
        self._viewer = Viewer(
            self._description,
            self.table.host,
            port,
            self._requests,
            self._parts,
            self.table.history,
        )
        self.get_logger().info(f'viewer: {self.address}')
        self.diagnostics.report('viewer', Level.OK, f'serving {self.address}')
        if self.table.host != LOOPBACK:
            self.get_logger().warning(
                f'the viewer is open to the network ({self.table.host}): '
                'whoever reaches it can move the robot'
            )

    def _task(self) -> str | None:
        """Return what the page says must be met; None where there is no page to say it."""
        return None if self._viewer is None else self._viewer.panel.task

    def _on_timer(self) -> None:
        seconds = time.monotonic()  # a clock that is set back must not make old things new
        viewer = self._viewer
        shown = viewer is not None and (viewer.watched or not viewer.scene.started)
        # The timer's grid: due when it is nearer to now than to the next tick.
        markers_due = seconds >= self._markers_due - 0.5 / self.table.rate
        fresh = (shown or markers_due) and self._read(seconds)
        self._requests.send_waiting()  # after reading: a stop ends what waits
        if viewer is not None:
            self._read_rare(viewer, seconds)
        if shown:
            viewer.show(self._snapshot)
        shape = self._snapshot.shape
        if shape is None:
            return
        self._ask_compliance(seconds, shape)
        if markers_due and (fresh or self._snapshot.silent != self._drawn_silent):
            self._markers_due = seconds + 1.0 / self.table.marker_rate
            self._drawn_silent = self._snapshot.silent
            self._publish_markers(shape)

    def _read(self, now: float) -> bool:
        """Take the newest of the streams; whether there is a new shape."""
        snapshot, polled = self._snapshot, self._polled
        snapshot.time = now
        message = polled.newest('configuration')
        fresh = self._understood(shape_from_message, message, 'configuration')
        if fresh is not None:
            snapshot.shape, self._stamp = fresh, message.header.stamp
            self._shape_at, self._requests.wrench = now, fresh.wrench
            snapshot.at_rest = False
        elif snapshot.shape is None and now >= self._rest_due:
            self._rest_due = now + REST_PERIOD
            self._requests.ask_rest(self._take_rest)
        snapshot.computing = self._requests.computing
        snapshot.silent = now - self._shape_at > self.table.state_timeout
        self._read_ghost(now)
        message = polled.newest('actuator_state')
        readout = self._understood(
            lambda message: readout_from_message(self._description.actuators, message),
            message,
            'actuator_state',
        )
        if readout is not None:
            snapshot.actuators, self._state_at = readout, now
            self._requests.stops = readout.stops
            if self._ownership.taken_away(readout):
                self._requests.withdraw()
        elif now - self._state_at > self.table.state_timeout:
            snapshot.actuators = None
        angles = self._understood(
            angles_from_message, polled.newest('joint_states'), 'joint_states'
        )
        snapshot.angles |= angles or {}  # several may publish, some of them no angles
        return fresh is not None

    def _take_rest(self, message: Any) -> None:
        """Draw the robot at rest until somebody says where it is."""
        if self._snapshot.shape is None:
            self._snapshot.shape = self._understood(shape_from_message, message, 'solve_forward')
            self._snapshot.at_rest = self._snapshot.shape is not None
            self._stamp = message.header.stamp

    def _understood(self, read: Callable[[Any], T], message: Any, topic: str) -> T | None:
        """Return what a message says; None where there is none, or none that can be shown."""
        return read_or_warn(
            read,
            message,
            topic,
            lambda text: self.get_logger().warning(text, throttle_duration_sec=2.0),
        )

    def _looked_at(self, what: str) -> bool:
        """Whether somebody wants to see something that others have to compute for it."""
        listened = self._markers_out.get_subscription_count() > 0
        if what == 'ellipsoids' and self.table.ellipsoids and listened:
            return True
        return what in self._requests.watched and (
            (self._viewer is not None and self._viewer.watched) or listened
        )

    def _read_ghost(self, now: float) -> None:
        # Listened to only while it is looked at: the solver solves it only for listeners.
        if not self._looked_at('ghost'):
            self._polled.close('commanded_configuration')
            self._snapshot.ghost = None
            return
        self._polled.open(Configuration, 'commanded_configuration', LOSSY)
        if now < self._ghost_due - 0.5 / self.table.rate:
            return  # the eye compares it with the robot: half of the pictures are enough
        self._ghost_due = now + 1.0 / self.table.marker_rate
        message = self._polled.newest('commanded_configuration')
        if message is not None:
            self._snapshot.ghost = self._understood(
                shape_from_message, message, 'commanded_configuration'
            )
            self._ghost_at = now
        elif now - self._ghost_at > GHOST_PERIOD:
            self._snapshot.ghost = None

    def _read_rare(self, viewer: Any, now: float) -> None:
        """Take what comes seldom: reports, cloud, paths."""
        words = self._snapshot.words
        prefix = self.get_namespace().rstrip('/') + '/'
        for array in self._polled.all('/diagnostics'):
            for status in array.status:
                if status.name.startswith(prefix):
                    name = status.name.removeprefix(prefix)
                    words[name], self._words_at[name] = (status.level[0], status.message), now
                    self._statuses[name] = status
        for name in [n for n in words if now - self._words_at[n] > WORDS_TIMEOUT]:
            del words[name], self._statuses[name]  # whoever said it is gone
        self._snapshot.driven = self._snapshot.actuators is not None and self._requests.driven
        self._snapshot.emulated = emulated_from_statuses(self._statuses.values())
        if not viewer.scene.started:
            return
        cloud = self._understood(read_cloud, self._polled.newest('workspace'), 'workspace')
        if cloud is not None:
            viewer.show_cloud(*cloud)
        for name in ('desired', 'actual'):
            path = self._polled.newest(f'{name}_path')
            if path is not None:
                viewer.show_path(name, path_positions(path))

    @property
    def ellipsoids_wanted(self) -> bool:
        """Whether compliances are asked for: somebody looks, and the shape is the present one."""
        return not self._snapshot.silent and self._looked_at('ellipsoids')

    def _ask_compliance(self, now: float, shape: Shape) -> None:
        if not self.ellipsoids_wanted:
            self._take_ellipsoids(None)
        elif now >= self._compliance_due:
            self._compliance_due = now + self.table.compliance_period
            self._requests.ask_compliance(lambda found: self._on_compliance(found, shape))

    def _on_compliance(self, messages: list[Any], shape: Shape) -> None:
        if not self.ellipsoids_wanted:
            return  # an answer that comes late
        self._take_ellipsoids(
            self._understood(
                lambda found: ellipsoids(chosen(found), shape.extent, shape.thickest),
                messages,
                'compute_compliance',
            )
        )

    def _take_ellipsoids(self, found: Ellipsoids | None) -> None:
        if found is None and self._ellipsoids is None:
            return
        self._ellipsoids = found
        if self._viewer is not None:
            self._viewer.show_ellipsoids(found)

    def _publish_markers(self, shape: Shape) -> None:
        if self._target is not None:
            if self._snapshot.silent or not self._requests.planned:
                self._target.hide()
            else:
                if why := why_still(self._snapshot):
                    self._target.answered(why, False)
                # Larger than what it is drawn around: nobody can take arrows inside a tube.
                self._target.follow(shape.tip, max(shape.extent, PER_RADIUS * shape.thickest))
        if self.table.publish_description and self._parts is not None:
            self._publish_links('revolute', self._tf)
        if self._markers_out.get_subscription_count() > 0:
            now = self._snapshot
            self._markers_out.publish(
                self._markers.message(self._stamp, shape, now.ghost, self._ellipsoids, now.silent)
            )

    def _publish_links(self, kind: str, publisher: Any) -> None:
        """Publish parent to link for every joint of one kind, fixed (stages) or revolute (cranks).

        A link on a floating joint is published by the solver.
        """
        stamp = self._stamp or self.get_clock().now().to_msg()
        prefix, message = self._frames.prefix, TFMessage()
        for link, joint in self._parts.joints.items():
            if joint.kind != kind:
                continue
            pose = joint.origin
            if kind == 'revolute':
                pose = pose @ turn(joint.axis, self._snapshot.angles.get(joint.name, 0.0))
            transform = TransformStamped(child_frame_id=prefix + link)
            transform.header.frame_id = prefix + joint.parent
            transform.header.stamp = stamp
            transform.transform = transform_to_message(pose)
            message.transforms.append(transform)
        if message.transforms:
            publisher.publish(message)

    def _answered(self, shape: Shape | None, text: str, good: bool, arrived: bool) -> None:
        if not good:
            self.get_logger().info(text, throttle_duration_sec=1.0)
        if self._target is not None:
            self._target.answered(text, good)
        if self._viewer is not None:
            self._viewer.show_solution(shape, text, good, arrived)


def main() -> None:
    """Run the node."""
    run(Visualization, then=LAST)
