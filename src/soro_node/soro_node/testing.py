# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Run nodes inside a test: a context of its own, a domain of its own, nothing left behind."""

from __future__ import annotations

from collections.abc import Callable
import os
import re
import threading
import time
from typing import Any

from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from rclpy.task import Future

from soro_node.main import spin
from soro_node.parameters import markdown_table

# What rclpy itself offers beside a node's own topics and services.
BUILT_IN = (
    '/rosout', '/parameter_events', '/describe_parameters', '/get_parameter_types',
    '/get_parameters', '/list_parameters', '/set_parameters', '/set_parameters_atomically',
    '/get_type_description', '/change_state', '/get_state', '/get_available_states',
    '/get_available_transitions', '/get_transition_graph', '/transition_event', '/clock',
)  # fmt: skip
# Domains that no port of the operating system's own range collides with.
DOMAINS = range(1, 101)


def own_domain() -> int:
    """Return a domain id that depends on the process, so that parallel runs do not meet."""
    return DOMAINS[os.getpid() % len(DOMAINS)]


class RosSession:
    """Nodes of one test, each spun by its own thread, and a client beside them.

    Parameters
    ----------
    namespace : str
        Of the client node.
    """

    def __init__(self, namespace: str = '') -> None:
        self.context = Context()
        self.context.init(args=[], domain_id=own_domain())
        self._spinning: list[tuple[Any, Any, threading.Thread, Future]] = []
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
        if hasattr(node, 'make_executor'):
            executor = node.make_executor()
        else:
            executor = SingleThreadedExecutor(context=self.context)
        executor.add_node(node)
        stop: Future = Future()
        thread = threading.Thread(target=spin, args=(executor, stop), daemon=True)
        thread.start()
        self._spinning.append((executor, node, thread, stop))

    def call(self, kind: Any, name: str, request: Any, timeout: float = 20.0) -> Any:
        """Call a service and return its response; TimeoutError when there is none."""
        client = self.client.create_client(kind, name)
        try:
            if not client.wait_for_service(timeout_sec=timeout):
                raise TimeoutError(f'no service {name}')
            return wait_for(client.call_async(request), timeout)
        finally:
            self.client.destroy_client(client)

    def listen(self, kind: Any, topic: str, qos: QoSProfile | int = 10) -> list[Any]:
        """Return a list that fills with the messages of a topic."""
        messages: list[Any] = []
        self.client.create_subscription(kind, topic, messages.append, qos)
        return messages

    def close(self) -> None:
        """Stop every node, the newest first, and the context."""
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
