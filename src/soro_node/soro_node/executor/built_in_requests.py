# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What rclpy answers by itself (parameters, log levels, lifecycle, types, /clock), made to refuse.

rclpy handles these requests without a net: a `set_parameters` whose type is 255 raises ValueError
in `Parameter.from_parameter_msg` (rclpy 9.1, parameter_service.py), a clock that is negative one
in `TimeSource.clock_callback` (time_source.py), and an exception in a callback ends the executor
and the node with it. What reaches into rclpy is in `soro_node.executor.rclpy_private`.

The requests that belong to a node itself are answered by the node (`soro_node.replies`): what it
has not foreseen is a fault of the program, and ends it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from rcl_interfaces.msg import SetLoggerLevelsResult, SetParametersResult
from rcl_interfaces.srv import SetLoggerLevels, SetParameters
from rclpy.node import Node

from soro_node.executor.rclpy_private import clock_source
from soro_node.parameters import has_value

# Packages of the services that rclpy offers by itself.
BUILT_IN = ('rcl_interfaces', 'lifecycle_msgs', 'type_description_interfaces')
# Requests for several things at once: their field, and the type of the result that each thing has.
SEVERAL = {
    SetParameters: ('parameters', SetParametersResult),
    SetLoggerLevels: ('levels', SetLoggerLevelsResult),
}
QUIET = 5.0  # s between two warnings: who sends nonsense may send it often


def guard_built_in(node: Node) -> None:
    """Let no request that rclpy answers by itself end a node; again is no harm."""
    for service in node.services:
        kind = service.srv_type
        if kind.__module__.split('.')[0] in BUILT_IN and not _is_guarded(service.callback):
            service.callback = _answer(node, kind, service.srv_name, service.callback)
    source, clock = clock_source(node)
    if source is not None and not _is_guarded(source.clock_callback):
        source.clock_callback = _heard(node, source.clock_callback)
        if clock is not None:
            clock.callback = source.clock_callback


def _answer(node: Node, kind: Any, name: str, callback: Callable[..., Any]) -> Callable[..., Any]:
    def attempt(request: Any, response: Any) -> Any:
        try:
            if kind is SetParameters and has_value(node, request.parameters[0]):
                response.results.append(SetParametersResult(successful=True))
                return response
            return callback(request, response)
        except Exception as error:  # noqa: BLE001 - of any request, see above
            _warn(node, f'{name} refused', error)
            return _refusal(kind, f'{type(error).__name__}: {error}')

    @wraps(callback)
    def answer(request: Any, response: Any) -> Any:
        if kind not in SEVERAL:
            return attempt(request, response)
        # One by one: what is right takes effect and what is not is refused, each in its place.
        field, _ = SEVERAL[kind]
        for part in getattr(request, field):
            single = attempt(kind.Request(**{field: [part]}), kind.Response())
            response.results.extend(single.results)
        return response

    answer.guarded = True  # type: ignore[attr-defined]
    return answer


def _refusal(kind: Any, reason: str) -> Any:
    """Return the response that refuses: not successful, the reason where there is a field."""
    response = kind.Response()
    if kind in SEVERAL:
        response.results.append(SEVERAL[kind][1](reason=reason))
    for place in (response, getattr(response, 'result', None)):
        for field in ('reason', 'failure_reason'):
            if hasattr(place, field):
                setattr(place, field, reason)
    return response


def _heard(node: Node, callback: Callable[[Any], None]) -> Callable[[Any], None]:
    @wraps(callback)
    def heard(message: Any) -> None:
        try:
            callback(message)
        except Exception as error:  # noqa: BLE001 - of any message, see above
            _warn(node, '/clock ignored', error)

    heard.guarded = True  # type: ignore[attr-defined]
    return heard


def _is_guarded(callback: Any) -> bool:
    return getattr(callback, 'guarded', False)


def _warn(node: Node, what: str, error: Exception) -> None:
    text = f'{what}: {type(error).__name__}: {error}'
    node.get_logger().warning(text, throttle_duration_sec=QUIET)
