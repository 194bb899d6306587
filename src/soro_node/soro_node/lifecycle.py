# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Base of every soro node: lifecycle transitions in which no exception disappears.

rclpy turns an exception in a transition into ERROR without a word. Here a subclass writes
plain methods (`configure`, `activate`, `deactivate`, `cleanup`, `stop_outputs`) that raise, and
the base logs what was raised and answers the transition:

- a SoroError (wrong parameter, wrong file, device not there) gives FAILURE: the node stays in
  the state it was in, one line is logged, and the transition can be tried again;
- anything else is a fault of the program: traceback, ERROR, `stop_outputs`, unconfigured.
"""

from __future__ import annotations

from collections.abc import Callable
import traceback

from rclpy.action import ActionServer
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn

from soro_mechanics.core.errors import SoroError
from soro_mechanics.core.status import Code
from soro_node.executor.clock_watch import watch_clock
from soro_node.executor.rclpy_private import state_machines
from soro_node.main import end_if_interrupted
from soro_node.parameters import fixed, Parameter


def autostart_parameter() -> Parameter:
    """Return the parameter that every lifecycle node has; put it into the node's table."""
    return fixed('autostart', True, '', 'configure and activate by itself at start')


class NotActive(SoroError):
    """The node is asked for something that it does only while it is active."""

    code = Code.NOT_ACTIVE


class GuardedLifecycleNode(LifecycleNode):
    """A lifecycle node whose transitions log what went wrong.

    - `active`: between a successful activation and the beginning of whatever ends it.
    - `refusal`: why the last transition did not succeed, for those who asked; None: it did.
    - `exit_when_autostart_fails`: whether `soro_node.main.run` gives up (exit code 1) when the
      node cannot start by itself. Drivers set it False: they stay unconfigured, say why, and can
      be configured again.
    """

    exit_when_autostart_fails = True

    def __init__(self, name: str, **kwargs: object) -> None:
        super().__init__(name, **kwargs)
        self.active = False
        self.refusal: SoroError | None = None
        watch_clock(self)

    def configure(self) -> None:
        """Acquire what is needed to become active; nothing moves."""

    def activate(self) -> None:
        """Start streams, timers and outputs."""

    def deactivate(self) -> None:
        """Stop streams and timers; outputs safe."""
        self.stop_outputs()

    def cleanup(self) -> None:
        """Give back what `configure` acquired."""

    def stop_outputs(self) -> None:
        """Bring every output to its safe state, now; called in any state and more than once."""

    def make_safe(self) -> None:
        """Stop outputs before the process ends; never raises."""
        self.active = False
        self._guarded('stop_outputs', self.stop_outputs)

    def withdraw_actions(self) -> None:
        """Offer no action any more; rclpy leaves that to whoever created them."""
        for action in [each for each in self.waitables if isinstance(each, ActionServer)]:
            action.destroy()

    def check_active(self) -> None:
        """Raise NotActive unless the node is active."""
        if not self.active:
            name = self.get_fully_qualified_name()
            raise NotActive(
                f'{name} is not active: ros2 lifecycle set {name} configure, then activate'
            )

    def autostart(self) -> bool:
        """Configure and activate; whether that worked. Nothing is retried."""
        if self.trigger_configure() != TransitionCallbackReturn.SUCCESS:
            return False
        return self.trigger_activate() == TransitionCallbackReturn.SUCCESS

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Run `configure`."""
        return self._transition('configure', self.configure, super().on_configure, state)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Run `activate`; outputs are stopped again when it fails half-way."""
        result = self._transition('activate', self.activate, super().on_activate, state)
        self.active = result == TransitionCallbackReturn.SUCCESS
        if not self.active:
            self._guarded('stop_outputs', self.stop_outputs)
        return result

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Run `deactivate`. A node that cannot deactivate in order goes through error handling."""
        self.active = False
        result = self._transition('deactivate', self.deactivate, super().on_deactivate, state)
        failed = result == TransitionCallbackReturn.FAILURE
        return TransitionCallbackReturn.ERROR if failed else result

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Run `cleanup`."""
        return self._transition('cleanup', self.cleanup, super().on_cleanup, state)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Make safe, then give everything back."""
        self.make_safe()
        return self._transition('shutdown', self.cleanup, super().on_shutdown, state)

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Make safe and fall back to unconfigured; finalized when even that fails."""
        self.active = False
        safe = self._guarded('stop_outputs', self.stop_outputs)
        released = self._guarded('cleanup', self.cleanup)
        super().on_error(state)
        good = safe == released == TransitionCallbackReturn.SUCCESS
        return TransitionCallbackReturn.SUCCESS if good else TransitionCallbackReturn.FAILURE

    def destroy_node(self) -> None:
        """Destroy the node, its actions and its state machine included.

        rclpy leaves both to others and to the garbage collector. They keep the participant, and so
        does whatever still refers to the node, a thread for one: it ends without taking leave of
        the others, who believe in it for 20 s more.
        """
        self.withdraw_actions()
        super().destroy_node()
        for machine in state_machines(self):
            machine.destroy_when_not_in_use()

    def _transition(
        self,
        name: str,
        own: Callable[[], None],
        managed: Callable[[LifecycleState], TransitionCallbackReturn],
        state: LifecycleState,
    ) -> TransitionCallbackReturn:
        self.refusal = None
        result = self._guarded(name, own)
        return managed(state) if result == TransitionCallbackReturn.SUCCESS else result

    def _guarded(self, name: str, action: Callable[[], None]) -> TransitionCallbackReturn:
        try:
            action()
        except SoroError as error:
            self.refusal = self.refusal or error
            self.get_logger().error(f'{name}: {error}')
            return TransitionCallbackReturn.FAILURE
        except Exception as error:  # noqa: BLE001 - the boundary where rclpy would swallow it
            end_if_interrupted()
            self.refusal = self.refusal or SoroError(f'{name} failed unexpectedly: {error!r}')
            self.get_logger().error(f'{name} failed unexpectedly:\n{traceback.format_exc()}')
            return TransitionCallbackReturn.ERROR
        return TransitionCallbackReturn.SUCCESS
