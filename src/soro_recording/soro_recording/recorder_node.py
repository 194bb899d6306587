# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Node ``recorder``: records everything of its robot into a bag, as bytes, from start to stop."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
import os
from pathlib import Path
import re
import threading
import time
from typing import Any

from rclpy.event_handler import SubscriptionEventCallbacks, UnsupportedEventTypeError
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_msgs.msg import Revision
from soro_node.diagnostics import Diagnostics, Level
from soro_node.executor.built_in_requests import guard_built_in
from soro_node.executor.clock_watch import steady_timer
from soro_node.executor.events_executor import cheap_executor
from soro_node.main import run
from soro_node.parameters import fixed, ParameterTable
from soro_node.user_errors import UserError
from soro_recording.bag_metadata import qos_entry
from soro_recording.bag_reader import MESSAGES, ROBOT_FILE
from soro_recording.bag_writer import BagWriter
from soro_recording.message_definitions import check_type, full_definition, message_class

SHARED = ('/tf', '/tf_static', '/diagnostics', '/rosout', '/clock')
DEPTH = 2000  # messages the middleware keeps for a busy recorder: 2 s at 1 kHz
REPORT_PERIOD = 1.0  # s
SETTLED = 2.0  # s without a new topic: as far as one can tell, all are known
MEGABYTE = 1e6


def _is_expression(values: dict[str, Any]) -> None:
    for name in ('topics', 'exclude'):
        try:
            re.compile(values[name])
        except re.error as error:
            raise InvalidInput(name, values[name], f'a regular expression ({error})') from None


PARAMETERS = (
    fixed('robot', '', '', 'name or path of the robot file put into the bag; empty: none'),
    fixed('folder', 'bags', '', 'where bags are made; relative to where the robot was launched'),
    fixed('output', '', '', 'path of the bag; empty: a new one in `folder`, namespace and time'),
    fixed('namespaces', [''], '', "namespaces recorded; an empty one is the recorder's own"),
    fixed('everything', False, '', 'record all topics, whatever their namespace'),
    fixed('topics', '', '', 'record only topics whose full name contains this regular expression'),
    fixed('exclude', '', '', 'leave out topics whose full name contains this regular expression'),
    fixed('reserve', 500.0, 'MB', 'stop before less than this is free on the disk', minimum=0.0),
    fixed('discovery_period', 0.5, 's', 'between looks for topics', minimum=0.05, maximum=60.0),
)


class Recorder(Node):
    """Subscribes to what is published and hands the bytes to a `BagWriter`."""

    def __init__(self, **options: Any) -> None:
        super().__init__('recorder', **options)
        self.parameters = ParameterTable(self, PARAMETERS, validate=_is_expression)
        self.lost = 0
        self._subscriptions_of: dict[str, Any] = {}
        self._replacing = threading.Lock()  # one of them: `heard` is asked by other threads
        self._refused: set[str] = set()
        self._unheard: set[str] = set()  # topics of which a publisher offers less than asked for
        self._last_found = time.monotonic()
        # The order of receipt is kept though somebody sets the wall clock.
        self._since = time.time_ns() - time.monotonic_ns()
        self.bag = BagWriter(
            self._output(),
            reserve=round(self.parameters.reserve * MEGABYTE),
            distribution=os.environ.get('ROS_DISTRO', 'rolling'),
        )
        self.bag.add_note(MESSAGES, {'revision': str(Revision.CURRENT)})
        if self.parameters.robot:
            self.add_robot(self.get_namespace(), self.parameters.robot)
        self._diagnostics = Diagnostics(self)
        steady_timer(self, self.parameters.discovery_period, self.discover)
        steady_timer(self, REPORT_PERIOD, self._report)
        self._failed = False
        self.discover()
        guard_built_in(self)  # its executor is none of ours
        self.get_logger().info(f'recording into {self.bag.folder.resolve()}')

    def make_executor(self) -> Any:
        """Return the executor to spin this node with."""
        return cheap_executor(self.context)

    def make_safe(self) -> None:
        """Bring everything received into the file and finish it; safe to call again."""
        self.bag.close()
        if self.bag.failure and not self._failed:
            self._failed = True
            self.get_logger().error(self.bag.failure)

    def add_robot(self, namespace: str, robot: str) -> None:
        """Put a robot file into the bag, as it is on the disk now.

        No node tells what it has read: a file that was changed after the robot was launched is
        not the one it runs with.
        """
        text = Path(find_robot_file(robot)).read_bytes()
        self.bag.add_file(f'{namespace.rstrip("/")}/{ROBOT_FILE}', 'application/yaml', text)

    @property
    def topics(self) -> list[str]:
        """Topics that are recorded."""
        return sorted(self._subscriptions_of)

    def heard(self, topic: str) -> bool:
        """Whether a publisher of a topic is connected: from then on nothing of it is missed."""
        with self._replacing:
            subscription = self._subscriptions_of.get(topic)
            return subscription is not None and subscription.get_publisher_count() > 0

    @property
    def connected(self) -> bool:
        """Whether all that is published now comes in, as far as one can tell.

        Each namespace has topics, each topic a publisher that is connected, and nothing new was
        found for a while: topics become known one after the other.
        """
        anywhere = self.parameters.everything or self.parameters.topics
        awaited = ['/'] if anywhere else self._spaces()
        return (
            time.monotonic() - self._last_found > SETTLED
            and all(any(t.startswith(s) for t in self._subscriptions_of) for s in awaited)
            and all(map(self.heard, self._subscriptions_of))
        )

    def _spaces(self) -> list[str]:
        """Return how the names in the recorded namespaces begin."""
        names = [name or self.get_namespace() for name in self.parameters.namespaces]
        return [name.rstrip('/') + '/' for name in names]

    def wanted(self, topic: str) -> bool:
        """Whether a topic belongs into the bag."""
        values = self.parameters
        if any(part.startswith('_') for part in topic.split('/')):
            return False  # hidden: actions and the like
        if values.topics and not re.search(values.topics, topic):
            return False
        if values.exclude and re.search(values.exclude, topic):
            return False
        if values.everything or topic in SHARED:
            return True
        if values.topics and '' in values.namespaces:
            return True  # an expression alone chooses from everything
        return topic.startswith(tuple(self._spaces()))

    def discover(self) -> None:
        """Subscribe to topics that have a publisher, anew where one has come that offers less."""
        for topic, _ in self.get_topic_names_and_types():
            recorded = topic in self._subscriptions_of and topic not in self._unheard
            if recorded or topic in self._refused or not self.wanted(topic):
                continue
            offered = self.get_publishers_info_by_topic(topic)
            if not offered:
                continue
            kinds = sorted({info.topic_type for info in offered})  # who listens may be wrong
            if topic in self._subscriptions_of:
                self._ask_for_less(topic, _matching(offered))
            elif len(kinds) > 1:
                self._refuse(topic, f'is published with several types: {", ".join(kinds)}')
            else:
                try:
                    self._record(topic, kinds[0], offered)
                except UserError as error:
                    self._refuse(topic, str(error))

    def _ask_for_less(self, topic: str, offered: QoSProfile) -> None:
        self._unheard.discard(topic)
        said = 'a publisher that has come offers less, which is recorded from now on'
        self.get_logger().warning(f'{topic}: {said}')
        with self._replacing:
            old = self._subscriptions_of[topic]
            self.destroy_subscription(old)
            kind, callback = old.msg_type, old.callback
            self._subscriptions_of[topic] = self._subscribe(kind, topic, callback, offered)

    def _record(self, topic: str, kind: str, offered: list[Any]) -> None:
        qos = [qos_entry(info.qos_profile) for info in offered]
        for info in offered:
            check_type(kind, str(info.topic_type_hash))
        number = self.bag.add_topic(
            topic, kind, full_definition(kind), qos, str(offered[0].topic_type_hash)
        )
        write, now, since = self.bag.write, time.monotonic_ns, self._since

        def on_message(data: bytes) -> None:
            write(number, since + now(), data)

        self._subscriptions_of[topic] = self._subscribe(
            message_class(kind), topic, on_message, _matching(offered)
        )
        self._last_found = time.monotonic()

    def _subscribe(
        self, kind: Any, topic: str, callback: Callable[[bytes], None], profile: QoSProfile
    ) -> Any:
        events = SubscriptionEventCallbacks(
            message_lost=self._on_lost, incompatible_qos=lambda _: self._unheard.add(topic)
        )
        try:
            return self.create_subscription(
                kind, topic, callback, profile, raw=True, event_callbacks=events
            )
        except UnsupportedEventTypeError:
            return self.create_subscription(kind, topic, callback, profile, raw=True)

    def _on_lost(self, event: Any) -> None:
        self.lost += event.total_count_change

    def _refuse(self, topic: str, why: str) -> None:
        self._refused.add(topic)
        self.get_logger().warning(f'{topic} is not recorded: {why}')

    def _report(self) -> None:
        bag = self.bag
        numbers = {
            'messages': sum(bag.counts.values()),
            'topics': len(self._subscriptions_of),
            'megabytes': bag.size / MEGABYTE,
            'waiting_bytes': bag.waiting,
            'lost': self.lost,
            'dropped': bag.dropped,
        }
        if bag.failure:
            self._diagnostics.report('bag', Level.ERROR, bag.failure, **numbers)
            if not self._failed:
                self._failed = True
                self.get_logger().error(bag.failure)
        elif bag.dropped or self.lost:
            self._diagnostics.report('bag', Level.WARN, 'messages were lost', **numbers)
        else:
            self._diagnostics.report('bag', Level.OK, 'recording', **numbers)

    def _output(self) -> Path:
        if self.parameters.output:
            path = Path(self.parameters.output).expanduser()
            if path.exists():
                raise InvalidInput('output', str(path), 'a path where nothing is yet')
            return path
        name = self.get_namespace().strip('/').replace('/', '_') or 'bag'
        moment = datetime.now().strftime('%Y-%m-%d_%H-%M-%S')
        path = Path(self.parameters.folder).expanduser() / f'{name}_{moment}'
        number = 1
        while path.exists():
            number += 1
            path = path.with_name(f'{name}_{moment}_{number}')
        return path


def _matching(offered: list[Any]) -> QoSProfile:
    """Return the most that every publisher of a topic offers."""
    profiles = [info.qos_profile for info in offered]
    reliable = all(p.reliability == ReliabilityPolicy.RELIABLE for p in profiles)
    latched = all(p.durability == DurabilityPolicy.TRANSIENT_LOCAL for p in profiles)
    return QoSProfile(
        depth=DEPTH,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
    )


def main() -> None:
    """Run the node."""
    raise SystemExit(run(Recorder))
