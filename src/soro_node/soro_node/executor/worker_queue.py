# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Work that takes time, on threads of its own beside the one that spins the node.

The thread that spins handles what is short: measurements, timers, stop requests. Requests that
solve something are put on a queue, which also sends the answer: the executor, which stays
single-threaded, is done with a request once it has handed it over. Goals of actions are
coroutines, suspended until the queue has their result. rclpy's MultiThreadedExecutor is no
alternative: it submits a callback again and again until a thread of its pool takes it, which costs
a whole core and delays everything else by tens of milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable
import contextlib
from dataclasses import dataclass
from queue import SimpleQueue
import threading
import time
import traceback
from typing import Any

from rclpy.action import ActionServer, CancelResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.exceptions import InvalidHandle
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.service import Service
from rclpy.task import Future

from soro_mechanics.core.status import Code
from soro_node.replies import fill_code

MAX_WAITING = 32


@dataclass(frozen=True)
class _Accepted:
    """What a service callback returns instead of a response that the queue will send."""

    request: Any
    response: Any


class WorkerQueue:
    """Threads that execute calls in the order in which they were handed over.

    `node`: whose executor continues the coroutines; `name`: of the threads, as debuggers show it;
    `threads`: how many calls run at the same time.
    """

    def __init__(self, node: Node, name: str, threads: int = 1) -> None:
        self._group = ReentrantCallbackGroup()
        self._node = node
        self._calls: SimpleQueue[tuple[Callable[..., None], tuple[Any, ...]] | None]
        self._calls = SimpleQueue()
        self._threads = threads
        for number in range(threads):
            # daemons: a process that is told to end does not wait for a long solve
            threading.Thread(target=self._work, name=f'{name}_{number}', daemon=True).start()
        self._most = MAX_WAITING + threads
        # Deeper than rclpy's 10, so that a burst is refused, or waits, rather than lost.
        self._qos = QoSProfile(depth=2 * self._most)
        self._inside = 0
        self._lock = threading.Lock()

    def create_service(self, kind: Any, name: str, answer: Callable[[Any, Any], Any]) -> Service:
        """Offer a service that is answered on this queue; the answer must not raise.

        A request that finds `MAX_WAITING` others is answered with the code BUSY.
        """

        def callback(request: Any, response: Any) -> Any:
            if self._enter(self._most):
                return _Accepted(request, response)
            sentence = f'{MAX_WAITING} requests are waiting already; ask again later'
            return fill_code(response, Code.BUSY, sentence)

        def send_or_submit(response: Any, header: Any) -> None:
            if isinstance(response, _Accepted):
                self.submit(self._answer, answer, response, send, header)
                # Gives the interpreter lock to the queue; else the executor keeps it for most of
                # its next turn, and the request waits as long as that.
                time.sleep(0)
            else:
                send(response, header)

        # A callback is not told whose request it has; `send_response` is, which the executor calls
        # with what the callback returned. The lock keeps a callback from returning before that is
        # replaced.
        with self._lock:
            service: Any = self._node.create_service(
                kind, name, callback, qos_profile=self._qos, callback_group=self._group
            )
            send, service.send_response = service.send_response, send_or_submit
        return service

    def create_action(
        self,
        kind: Any,
        name: str,
        execute: Callable[..., Any],
        arrived: Callable[[], tuple[Any, ...]] = tuple,
    ) -> ActionServer:
        """Offer an action whose goals are executed on this queue; every cancel is accepted.

        `execute` gets the goal and what `arrived` returned, as a tuple, when it was accepted.
        """

        async def callback(handle: Any) -> Any:
            return await self._run(execute, handle, *arrived())

        return ActionServer(
            self._node,
            kind,
            name,
            callback,
            callback_group=self._group,
            cancel_callback=lambda handle: CancelResponse.ACCEPT,
            goal_service_qos_profile=self._qos,
            result_service_qos_profile=self._qos,
            cancel_service_qos_profile=self._qos,
        )

    def newest(self, call: Callable[[Any], None]) -> Callable[[Any], None]:
        """Return a subscription callback that hands messages to the queue; `call` must not raise.

        A message that arrives while an earlier one is being worked on replaces the one that waits.
        """
        waiting: list[Any] = []

        def take() -> None:
            with self._lock:
                message = waiting.pop()
            call(message)

        def callback(message: Any) -> None:
            with self._lock:
                replaced, waiting[:] = bool(waiting), [message]
            if not replaced:
                self.submit(take)

        return callback

    def close(self) -> None:
        """End the threads once what waits is done; what runs is not waited for."""
        for _ in range(self._threads):
            self._calls.put(None)

    def _enter(self, most: float = float('inf')) -> bool:
        with self._lock:
            if self._inside >= most:
                return False
            self._inside += 1
            return True

    def _leave(self) -> None:
        with self._lock:
            self._inside -= 1

    def _answer(
        self,
        answer: Callable[[Any, Any], Any],
        accepted: _Accepted,
        send: Callable[[Any, Any], None],
        header: Any,
    ) -> None:
        try:
            response = answer(accepted.request, accepted.response)
        finally:
            self._leave()
        # rcl sends from any thread. A service that was withdrawn meanwhile has nobody to answer.
        with contextlib.suppress(InvalidHandle):
            send(response, header)

    async def _run(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """Return what a call returns, or raise what it raises, without holding the executor up."""
        future: Future = Future(executor=self._node.executor)
        self._enter()
        try:
            self.submit(self._execute, future, call, arguments)
            return await future
        finally:
            self._leave()

    def _execute(self, future: Future, call: Callable[..., Any], arguments: Any) -> None:
        try:
            result = call(*arguments)
        except Exception as error:  # noqa: BLE001 - raised again where it is awaited
            future.set_exception(error)
        else:
            future.set_result(result)
        executor = self._node.executor
        if executor is not None:
            executor.wake()

    def submit(self, call: Callable[..., None], *arguments: Any) -> None:
        """Call something in the order of the queue; any thread."""
        self._calls.put((call, arguments))

    def _work(self) -> None:
        while (item := self._calls.get()) is not None:
            call, arguments = item
            try:
                call(*arguments)
            except Exception:  # noqa: BLE001 - a fault of ours must not end the queue
                self._node.get_logger().error(f'queue:\n{traceback.format_exc()}')
