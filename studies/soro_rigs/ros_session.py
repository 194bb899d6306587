# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Run nodes inside a test: a context of its own, a domain of its own, nothing left behind."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
import re
import threading
import time
from typing import Any

from rclpy.action import ActionClient
from rclpy.context import Context
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from rclpy.task import Future
import yaml

from soro_node.executor.single_executor import SingleExecutor
from soro_node.main import spin
from soro_node.middleware import set_middleware
from soro_node.robot_binding import ROBOT_PARAMETERS
from soro_rigs.domains import own_domain
from soro_rigs.parameter_table import markdown_table

# What rclpy itself offers beside a node's own topics and services.
BUILT_IN = (
    '/rosout', '/parameter_events', '/describe_parameters', '/get_parameter_types',
    '/get_parameters', '/list_parameters', '/set_parameters', '/set_parameters_atomically',
    '/get_type_description', '/change_state', '/get_state', '/get_available_states',
    '/get_available_transitions', '/get_transition_graph', '/transition_event', '/clock',
)  # fmt: skip
AGAIN = 2.5  # s without an answer after which a service is called again
ACTION_TIMEOUT = 120.0  # s: a node may compile kernels when it starts


class Place:
    """What a `RobotBinding` asks of a node, for tests without one."""

    def get_namespace(self) -> str:
        """Return where the node is."""
        return '/arm'


class RosSession:
    """Nodes of one test, each spun by its own thread, and a client beside them.

    Parameters
    ----------
    namespace : str
        Of the client node.
    """

    def __init__(self, namespace: str = '') -> None:
        set_middleware()
        self.context = Context()
        self.context.init(args=[], domain_id=own_domain())
        self._spinning: list[tuple[Any, Any, threading.Thread, Future]] = []
        self._executors: dict[Any, SingleExecutor] = {}
        self._actions: list[ActionClient] = []
        self.client = Node('test_client', namespace=namespace, context=self.context)
        self.spin(self.client)

    def __enter__(self) -> RosSession:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def node(self, factory: Callable[..., Any], namespace: str = '', **parameters: Any) -> Any:
        """Make a node with parameter values and spin it."""
        overrides = [Parameter(name, value=value) for name, value in parameters.items()]
        node = factory(context=self.context, namespace=namespace, parameter_overrides=overrides)
        self.spin(node)
        return node

    def spin(self, node: Any) -> None:
        """Spin a node in its own thread until the session is closed."""
        executor = self._executors[node] = SingleExecutor(context=self.context)
        executor.add_node(node)
        stop: Future = Future()
        thread = threading.Thread(target=spin, args=(executor, stop), daemon=True)
        thread.start()
        self._spinning.append((executor, node, thread, stop))

    def do(self, node: Any, action: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """Do something in the thread that spins a node; return what it returned or raise it.

        Whatever makes or destroys actions, services and subscriptions belongs there: rclpy
        registers an action before it is complete, and an executor that builds its wait set at
        that moment raises (ros2/rclpy issue 1589).
        """
        outcome: Future = Future()

        def act() -> None:
            try:
                outcome.set_result(action(*arguments, **named))
            except BaseException as error:  # noqa: BLE001 - raised again where it was asked for
                outcome.set_exception(error)

        self._executors[node].create_task(act)
        return wait_for(outcome, ACTION_TIMEOUT)

    def start(self, node: Any) -> bool:
        """Configure and activate a node as its own process would; return whether that worked."""
        return bool(self.do(node, node.autostart))

    def action_client(self, kind: Any, name: str) -> ActionClient:
        """Return a client of an action; it lives as long as the session.

        Its goals are sent by the thread that spins: rclpy forgets the answer of a server that
        is faster than the thread which sends (ros2/rclpy issue 1123).
        """
        client: Any = self.do(self.client, ActionClient, self.client, kind, name)
        client.send_goal_async = partial(self.do, self.client, client.send_goal_async)
        self._actions.append(client)
        return client

    def call(self, kind: Any, name: str, request: Any, timeout: float = 20.0) -> Any:
        """Call a service and return its response; TimeoutError when there is none.

        A server on a busy computer may not have discovered the new client yet: then the request is
        lost, and sent again.
        """
        client = self.do(self.client, self.client.create_client, kind, name)
        try:
            if not client.wait_for_service(timeout_sec=timeout):
                raise TimeoutError(f'no service {name}')
            answers: list[Any] = []
            end = time.monotonic() + timeout
            while True:
                answers.append(client.call_async(request))
                try:
                    wait_until(lambda: any(a.done() for a in answers), AGAIN)
                    return next(a.result() for a in answers if a.done())
                except TimeoutError:
                    if time.monotonic() > end:
                        raise TimeoutError(f'no answer of {name} in {timeout:g} s') from None
        finally:
            self.do(self.client, self.client.destroy_client, client)

    def listen(self, kind: Any, topic: str, qos: QoSProfile | int = 10) -> list[Any]:
        """Return a list that fills with the messages of a topic."""
        messages: list[Any] = []
        self.do(self.client, self.client.create_subscription, kind, topic, messages.append, qos)
        return messages

    def close(self) -> None:
        """Stop every node, the newest first, and the context."""
        for client in self._actions:
            self.do(self.client, client.destroy)
        for executor, node, thread, stop in reversed(self._spinning):
            if hasattr(node, 'make_safe'):
                node.make_safe()
            stop.set_result(None)
            thread.join(2.0)
            executor.shutdown(timeout_sec=2.0)
            node.destroy_node()
        self.context.try_shutdown()


def wait_for(future: Any, timeout: float = 20.0) -> Any:
    """Return the result of a future that another thread completes."""
    done = threading.Event()
    future.add_done_callback(lambda _: done.set())
    if not done.wait(timeout):
        raise TimeoutError('no answer')
    return future.result()


def wait_until(condition: Callable[[], Any], timeout: float = 20.0) -> Any:
    """Wait until a condition holds and return its value; TimeoutError with what it was."""
    pause, end = threading.Event(), time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise TimeoutError(f'still {value!r} after {timeout} s')
        pause.wait(0.01)


def check_node_page(
    root: Path,
    kind: Callable[..., Any],
    parameters: Any,
    some: set[str],
    chosen: set[str] | None = None,
    **values: Any,
) -> None:
    """Assert that docs page and parameter file of a node agree with the node.

    Parameters
    ----------
    root : Path
        Of the workspace; ``docs/nodes/<name>.md`` and ``config/nodes/<name>.yaml`` are below it.
    kind : callable
        The node's class, for a robot.
    parameters : iterable of soro_node.parameters.Parameter
        Its table.
    some : set of str
        A topic, service and the like: the check must miss each on an empty page.
    chosen : set of str, optional
        See `check_parameter_file`.
    values : object
        Parameters of the node; the robot is ``spatial_cc`` where they name none.
    """
    # In a namespace of its own: the graph may still know a node of an earlier session by its name.
    with RosSession('/page') as ros:
        node = ros.node(kind, '/page', **{'robot': 'spatial_cc', **values})
        assert ros.start(node)
        name = node.get_name()
        page = (root / f'docs/nodes/{name}.md').read_text(encoding='utf-8')
        # The graph knows what a node offers a moment after the node does.
        wait_until(lambda: some <= set(undocumented('', node, parameters)))
        assert undocumented(page, node, parameters) == []
    check_parameter_file(root, name, parameters, chosen)


def check_parameter_file(
    root: Path, name: str, parameters: Any, chosen: set[str] | None = None
) -> None:
    """Assert that ``config/nodes/<name>.yaml`` holds the defaults of a node's table.

    `chosen` names what the file leaves to whoever launches the robot; everything else is in it.
    Default: ``autostart`` and the parameters of a robot.
    """
    table = {p.name: p for p in parameters}
    data = yaml.safe_load((root / f'config/nodes/{name}.yaml').read_text(encoding='utf-8'))
    values = data[f'/**/{name}']['ros__parameters']
    for key, value in values.items():
        assert table[key].checked(value) == table[key].default
    left = {'autostart', *(p.name for p in ROBOT_PARAMETERS)} if chosen is None else chosen
    assert set(table) - set(values) == left


def undocumented(page: str, node: Any, parameters: Any) -> list[str]:
    """Return what a node's docs page leaves out: parameters, topics, services and actions.

    Parameters
    ----------
    page : str
        Text of the page.
    node : Node
        Configured and active, so that everything it offers exists.
    parameters : iterable of soro_node.parameters.Parameter
        Its table; the page must hold the rendered table exactly.
    """
    missing = [] if markdown_table(parameters) in page else ['the parameter table as rendered']
    own = node.get_fully_qualified_name() + '/'
    space = node.get_namespace().rstrip('/') + '/'
    name, namespace = node.get_name(), node.get_namespace()
    found: set[str] = set()
    for query in (
        node.get_publisher_names_and_types_by_node,
        node.get_subscriber_names_and_types_by_node,
        node.get_service_names_and_types_by_node,
    ):
        found.update(topic for topic, _ in query(name, namespace))
    for topic in sorted(found):
        if topic.endswith(BUILT_IN) or '/_action/' in topic.replace('/_action/send_goal', ''):
            continue
        topic = topic.replace('/_action/send_goal', '')
        short = f'~/{topic[len(own) :]}' if topic.startswith(own) else topic.removeprefix(space)
        if not ({f'`{short}`', f'`{topic}`'} & set(re.findall(r'`[^`]+`', page))):
            missing.append(short)
    return missing
