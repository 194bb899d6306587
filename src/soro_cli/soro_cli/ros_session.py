# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A short-lived node: finds robots, calls services, reads streams, never waits without a limit."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
import os
import time
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
import rclpy
from rclpy.context import Context
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from soro_cli.tables import note
from soro_node.executor.single_executor import SingleExecutor
from soro_node.middleware import set_middleware
from soro_node.process.log_files import NO_LOG_FILES
from soro_node.process.signal_handlers import interrupts_held_back
from soro_node.user_errors import UserError

SOLVER = 'kinematics_solver'
DISCOVERY = 5.0  # s; on one machine every node is found within half a second, unless it is busy
SETTLED = 1.0  # s in which no node comes or goes: all robots have been found
LONGEST = 4.0 * DISCOVERY  # s until nothing comes or goes any more
OWN_NODES = 'soro_cli_'  # of commands like this one, which come and go all the time
PATIENT = 1.5  # s without a word, after which a person is told; nodes speak once a second
AGAIN = 1.0  # s without an answer after which a request is sent again
SLICE = 0.05  # s, longest time a Ctrl-C waits
TIMED_OUT, CANCELED = 204, 400  # ErrorCode


class RosSession(AbstractContextManager['RosSession']):
    """Context, node and executor of one command."""

    def __enter__(self) -> RosSession:
        set_middleware()
        self._context = Context()
        given, handlers = list(NO_LOG_FILES), SignalHandlerOptions.NO
        rclpy.init(args=given, context=self._context, signal_handler_options=handlers)
        self.node: Node = rclpy.create_node(
            f'{OWN_NODES}{os.getpid()}',
            context=self._context,
            start_parameter_services=False,
            enable_rosout=False,
        )
        self._executor = SingleExecutor(context=self._context)
        self._executor.add_node(self.node)
        self._clients: dict[str, Any] = {}
        self._compiling: dict[str, bool] = {}  # by node, as far as heard
        self.node.create_subscription(DiagnosticArray, '/diagnostics', self._hear, 10)
        return self

    def __exit__(self, *error: object) -> None:
        self._executor.shutdown(timeout_sec=1.0)
        self.node.destroy_node()
        rclpy.try_shutdown(context=self._context)

    def spin_until(self, done: Callable[[], bool], timeout: float) -> bool:
        """Spin until a condition holds; whether it did within the time [s].

        KeyboardInterrupt comes between two turns of the executor.
        """
        end = time.monotonic() + timeout
        with interrupts_held_back() as interrupts:
            while not (found := done()) and not interrupts:
                left = end - time.monotonic()
                if left <= 0.0:
                    break
                self._executor.spin_once(timeout_sec=min(SLICE, left))
        return found

    def running_robots(self, wanted: str = '') -> list[str]:
        """Return the namespaces in which a kinematics solver lives, sorted.

        As soon as `wanted` is among them; else when discovery has settled, see `found_at_rest`.
        """
        return self.found_at_rest(self.solvers, wanted)

    def solvers(self) -> set[str]:
        """Return the namespaces in which a kinematics solver is seen now."""
        return {space for space, name in self._nodes() if name == SOLVER}

    def _nodes(self) -> set[tuple[str, str]]:
        """Return namespace and name of every node that is seen now, commands left out."""
        nodes = self.node.get_node_names_and_namespaces()
        return {(space, name) for name, space in nodes if not name.startswith(OWN_NODES)}

    def found_at_rest(self, look: Callable[[], set[str]], wanted: str = '') -> list[str]:
        """Look for namespaces until discovery has settled, and return them, sorted.

        A robot of which one node is seen may have others under way, so that no node at all may
        have come or gone for `SETTLED`. Returns as soon as `wanted` is among them.

        UserError: nodes come and go without an end: which robots run cannot be said.
        """
        found: set[str] = set()
        seen: object = None
        last_change = start = time.monotonic()
        while True:
            found, nodes = look(), self._nodes()
            now = time.monotonic()
            if (found, nodes) != seen:
                seen, last_change = (set(found), nodes), now
            if wanted in found:
                break
            quiet = now - last_change > SETTLED
            if quiet and (found and not wanted or now - start > DISCOVERY):
                break
            if now - start > LONGEST:
                raise UserError(
                    f'nodes come and go since {LONGEST:g} s, so that which robots run is not '
                    'certain; name one with --namespace',
                    TIMED_OUT,
                )
            self.spin_until(lambda: False, SLICE)
        return sorted(found)

    def offering(self, service: str) -> set[str]:
        """Return the namespaces in which a service such as ``driver/stop`` is offered now."""
        return {
            name.removesuffix(f'/{service}') or '/'
            for name, _ in self.node.get_service_names_and_types()
            if name.endswith(f'/{service}') and self.node.count_services(name)  # not clients alone
        }

    def beside(self, service: str, space: str) -> bool:
        """Whether a namespace offers a service too, looked for until none of its nodes is new."""
        seen, last = set[tuple[str, str]](), time.monotonic()
        while not (there := space in self.offering(service)):
            if new := {node for node in self._nodes() if node[0] == space} - seen:
                seen, last = seen | new, time.monotonic()
            elif time.monotonic() - last > SETTLED:
                break
            self.spin_until(lambda: False, SLICE)
        return there

    def settled(self, look: Callable[[], set[str]], wanted: str, pause: float) -> list[str]:
        """Look for namespaces again and again and return them, sorted.

        For what is done to each of them as it is found. Returns as soon as `wanted` is among them,
        else when no more have come for a while [s].
        """
        found: set[str] = set()
        last_change = start = time.monotonic()
        while time.monotonic() - start < DISCOVERY:
            now = look()
            if now != found:
                found, last_change = now, time.monotonic()
            if wanted in found:
                break
            if found and not wanted and time.monotonic() - last_change > pause:
                break
            self.spin_until(lambda: False, SLICE)
        return sorted(found)

    def serves(self, kind: Any, name: str) -> bool:
        """Whether a service is there, and its answers would arrive.

        Its name alone is known earlier: server and client find each other's two topics one by one.
        """
        return bool(self._client(kind, name).service_is_ready())

    def _client(self, kind: Any, name: str) -> Any:
        if name not in self._clients:
            self._clients[name] = self.node.create_client(kind, name)
        return self._clients[name]

    def answered(
        self,
        send: Callable[[], Any],
        timeout: float,
        again: bool = True,
        alive: Callable[[], bool] = lambda: True,
        futures: list[Any] | None = None,
    ) -> Any:
        """Send a request and return its answered future; None where no answer comes in time.

        A server that has not discovered the new client yet never sees its first request (seen on a
        busy computer: 1 in 4), so that it is sent again, ever more rarely; False for `again` where
        its second arrival could do harm. Ends early when the server is not `alive`. `futures` are
        those of what was sent before an interruption, and are added to.
        """
        futures = [] if futures is None else futures
        due, end, pause = not futures, time.monotonic() + timeout, AGAIN

        def done() -> Any:
            return next((f for f in futures if f.done()), None)

        while True:
            if due:
                with interrupts_held_back():
                    futures.append(send())
            if self.spin_until(
                lambda: done() is not None or not alive(), min(pause, end - time.monotonic())
            ):
                return done()
            if time.monotonic() >= end:
                return None
            due, pause = again, 2.0 * pause

    def call(
        self, kind: Any, name: str, request: Any, timeout: float = 10.0, again: bool = True
    ) -> Any:
        """Call a service; for `again` see `answered`.

        UserError: it is not there, or does not answer in time.
        """
        client = self._client(kind, name)
        ready = client.service_is_ready
        if not self.spin_until(ready, PATIENT):
            note(f'soro: waiting for {name}: its node {self._says(name, "is starting")}')
        if not self.spin_until(ready, DISCOVERY - PATIENT):
            gone = self._says(name, 'has ended, is still starting or is not part of this launch')
            raise UserError(f'there is no service {name}; the node {gone}', TIMED_OUT)
        asked = time.monotonic()
        told: list[bool] = []

        def alive() -> bool:
            if not told and time.monotonic() - asked > PATIENT:
                told.append(True)
                note(f'soro: waiting for the answer of {name}: it {self._says(name, "is busy")}')
            return True

        future = self.answered(lambda: client.call_async(request), timeout, again, alive)
        if future is None:
            said = self._says(name, 'is busy, or has ended')
            raise UserError(f'{name} has not answered within {timeout:g} s: it {said}', TIMED_OUT)
        return future.result()

    def _hear(self, message: DiagnosticArray) -> None:
        """Take note of what nodes say of their kernels: while they compile they answer nothing."""
        for status in message.status:
            if status.name.endswith(': kernels'):
                self._compiling[status.name.partition(':')[0]] = status.level[0] > 0

    def _says(self, service: str, otherwise: str) -> str:
        """Return what keeps the node of a service from answering."""
        why = 'loads its kernels, or compiles them, once, for minutes; ask again then'
        return why if self._compiling.get(service.rpartition('/')[0]) else otherwise

    def parameter(self, node: str, name: str) -> str:
        """Return a parameter of a node as text; empty where it has no value."""
        from rcl_interfaces.srv import GetParameters
        from rclpy.parameter import parameter_value_to_python

        reply = self.call(
            GetParameters, f'{node}/get_parameters', GetParameters.Request(names=[name])
        )
        value = parameter_value_to_python(reply.values[0]) if reply.values else None
        return '' if value is None else str(value)

    def robot_in(self, namespace: str) -> str:
        """Return the name or file of the robot whose solver lives in a namespace."""
        return self.parameter(f'{namespace.rstrip("/")}/{SOLVER}', 'robot')

    def set_parameter(self, node: str, name: str, value: Any) -> None:
        """Set a parameter of a node. UserError: the node refuses it or does not answer."""
        from rcl_interfaces.srv import SetParameters
        from rclpy.parameter import Parameter

        parameter = Parameter(name, value=value).to_parameter_msg()
        request = SetParameters.Request(parameters=[parameter])
        (result,) = self.call(SetParameters, f'{node}/set_parameters', request).results
        if not result.successful:
            raise UserError(f'{node}: {result.reason}')
