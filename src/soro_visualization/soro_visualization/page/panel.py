# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The panel of the browser viewer: STOP, status, target, actuators, what to show, plots."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
import time
from typing import Any, TYPE_CHECKING

import numpy as np

from soro_mechanics.core.actuators import Actuator, CoupledLimit
from soro_mechanics.robot_file.reader import RobotDescription
from soro_node.display_units import shown_steady as shown
from soro_node.display_units import size_of, step_of, unit_of
from soro_visualization.drawing.shape import Array
from soro_visualization.ownership import Ownership
from soro_visualization.page.additions import FAINT, WARNING
from soro_visualization.page.readout import (
    ActuatorReadout,
    badge,
    banner,
    flag_words,
    Snapshot,
    status_html,
    TASKS,
    why_still,
)

if TYPE_CHECKING:  # a recording is shown without ROS
    from soro_visualization.robot_requests import RobotRequests

ROUNDED = 1e-6  # of what a slider shows
LET_GO = 0.5  # s without a movement, after which a slider that was held during a stop acts again
HANDS_ON = 1.0  # s in which sliders stay where a hand left them, though the robot is not there
WORKSPACE = 'Compute the workspace'
PATHS = '<small>&nbsp; blue: desired, green: actual</small>'
FOLDED = 12  # more actuators than this start folded away


class ActuatorSliders:
    """A slider for every actuator, with limits and units.

    What is sent is what the page shows: all sliders, one of them just moved. Sliders show what is
    applied, except while a hand is on them or the robot is on its way to what was sent from here.
    """

    def __init__(
        self,
        gui: Any,
        actuators: Sequence[Actuator],
        limits: Sequence[CoupledLimit],
        send: Callable[[Array], None],
    ) -> None:
        self._actuators, self._limits, self._send = actuators, limits, send
        self._sizes = np.array([size_of(a) for a in actuators])
        self._low = np.array([a.minimum for a in actuators])
        self._high = np.array([a.maximum for a in actuators])
        # What the sliders show, in their units; a value that is refused never gets here.
        self._shown = np.array([round(a.rest / size_of(a), 6) for a in actuators])
        self._touched = self._taken_away = -np.inf
        self._nearest = np.inf  # to what was sent, that the robot has been since
        self._ownership = Ownership()
        self.on_taken_away: Callable[[], None] = lambda: None
        self._values = gui.add_html('')
        self._note = gui.add_html('')
        self._sliders = []
        for i, a in enumerate(actuators):
            size = size_of(a)
            ends = tuple(round(x / size, 6) for x in (a.minimum, a.maximum))
            slider = gui.add_slider(
                f'{a.name} [{unit_of(a)}]' if unit_of(a) else a.name,
                min=ends[0],
                max=ends[1],
                marks=tuple((x, f'{x:.4g}') for x in ends),
                step=step_of(a),
                initial_value=float(self._shown[i]),
                hint=f'{shown(a.minimum, a.unit)} to {shown(a.maximum, a.unit)}, '
                f'at most {a.rate / size:g} {unit_of(a)}/s',
            )
            slider.on_update(self._moved(i))
            self._sliders.append(slider)

    def forget_target(self) -> None:
        """Have the sliders follow what is applied at once: something else moves the robot."""
        self._touched = -np.inf

    @property
    def enabled(self) -> bool:
        """Whether they can be moved."""
        return not self._sliders[0].disabled

    def enable(self, on: bool) -> None:
        """Let them be moved, or not: nothing would come of it."""
        if on != self.enabled:
            for slider in self._sliders:
                slider.disabled = not on

    def rest(self) -> None:
        """Send every actuator to rest."""
        target = np.array([a.rest for a in self._actuators])
        for i, value in enumerate(target / self._sizes):
            self._put(i, value)
        self._note.content = ''
        self._send_touched(target)

    def notice(self, readout: ActuatorReadout) -> None:
        """Take note of a state without showing it: a target ends at once, texts can wait."""
        if self._ownership.taken_away(readout):
            self._taken_away = time.monotonic()
            self.forget_target()
            self.on_taken_away()

    def show(self, readout: ActuatorReadout | None, now: float) -> None:
        """Show a state: numbers, flags, and the sliders where no hand is on them."""
        if readout is None:
            self._values.content = '<small>&nbsp; no actuator_state</small>'
            return
        self._values.content = self._table(readout)
        self.notice(readout)
        applied = np.where(np.isfinite(readout.applied), readout.applied, readout.present)
        values = applied / self._sizes
        if now - self._touched < HANDS_ON:
            # A slow robot may be long on its way; one that somebody else moves comes no nearer.
            distance = float(np.max(np.abs(values - self._shown)))
            if distance < self._nearest:
                self._nearest, self._touched = distance, now
            return
        for i, a in enumerate(self._actuators):
            if np.isfinite(values[i]) and abs(self._shown[i] - values[i]) > 2.0 * step_of(a):
                self._put(i, values[i])

    def _put(self, index: int, value: float) -> None:
        slider = self._sliders[index]
        slider.value = round(float(np.clip(value, slider.min, slider.max)), 6)
        self._shown[index] = slider.value

    def _send_touched(self, target: Array) -> None:
        self._touched, self._nearest = time.monotonic(), np.inf
        self._send(target)

    def _moved(self, index: int) -> Callable[[Any], Any]:
        async def moved(event: Any) -> None:
            if event.client_id is None:
                return  # set by us
            if self._held_since_taken_away():
                self._say('the robot was stopped or taken away: let go, then move it again')
                self._put(index, self._shown[index])
                return
            values = self._shown.copy()
            values[index] = event.target.value
            # The ends of a slider are rounded, those of the actuator are not.
            target = np.clip(values * self._sizes, self._low, self._high)
            beyond = [x.name for x in self._limits if x.coefficients @ target > x.maximum]
            # A slider sends no other; a program on its socket may, also what is no number.
            if not np.all(np.abs(values - target / self._sizes) < ROUNDED):
                beyond = [f'the limits of {self._actuators[index].name}']
            self._say(f'beyond {beyond[0]}: not sent' if beyond else '')
            if beyond:
                self._put(index, self._shown[index])  # else the page would show what was not sent
                return
            self._shown[index] = values[index]
            self._send_touched(target)

        return moved

    def _held_since_taken_away(self) -> bool:
        """Whether a hand that moves a slider now has moved it ever since; sliders do not say.

        What somebody else has stopped must not set off again under a hand that was late.
        """
        now = time.monotonic()
        held = now - self._taken_away < LET_GO
        if held:
            self._taken_away = now
        return held

    def _say(self, text: str) -> None:
        self._note.content = _small(text, WARNING) if text else ''

    def _table(self, readout: ActuatorReadout) -> str:
        if len(self._actuators) > FOLDED:
            found: dict[str, list[float]] = {}
            for a, value in zip(self._actuators, readout.present, strict=True):
                found.setdefault(a.unit, []).append(float(value))
            ends = ((u, float(np.nanmin(v)), float(np.nanmax(v))) for u, v in found.items())
            ranges = [f'{shown(low, unit)} to {shown(high, unit)}' for unit, low, high in ends]
            return f'<small>&nbsp; measured {", ".join(ranges)}</small>'
        rows = ''.join(
            f'<tr><td style="padding-right:0.8em">{a.name}</td>'
            f'<td style="padding-right:0.8em">{shown(float(m), a.unit)}</td>'
            f'<td style="color:{WARNING}">{flag_words(f)}</td></tr>'
            for a, m, f in zip(self._actuators, readout.measured, readout.flags, strict=True)
        )
        head = f'<tr style="color:{FAINT}"><td></td><td>measured</td><td>applied: sliders</td>'
        return f'<table style="font-size:0.75em;margin:0 0.5em">{head}{rows}</table>'


class ViewerPanel:
    """Everything beside the scene.

    `controls`: None: a recording is shown, nothing can be asked for; `show`: ``show(name, on)``:
    shows or hides something in the scene.
    """

    def __init__(
        self,
        gui: Any,
        robot: RobotDescription,
        controls: RobotRequests | None,
        show: Callable[[str, bool], None],
    ) -> None:
        self._controls, self._show = controls, show
        self.task, self.follow = TASKS[0], True
        self.on_task: Callable[[str], None] = lambda task: None
        self.on_end: Callable[[], None] = lambda: None  # a target of the gizmo ends
        self._head = gui.add_html('')
        self._title = escape(robot.title)
        if controls is not None:
            self._stop = gui.add_button(
                'STOP', color='red', hint='driver/stop: vents, now; key: Esc'
            )
            self._stop.on_click(self._on_stop)
        self._banner = gui.add_html('')
        self._status = gui.add_html('')
        self.sliders: ActuatorSliders | None = None
        if controls is not None:
            self._add_target(gui)
            self._add_actuators(gui, robot, controls)
        self._add_layers(gui, controls)

    def show(self, snapshot: Snapshot, legends: Mapping[str, str], now: float) -> None:
        """Show a moment; called a few times a second."""
        self._head.content = (
            f'<div style="margin:0.3em 0.5em"><b>{self._title}</b><br>'
            f'{badge(snapshot.driven, snapshot.emulated)}</div>'
        )
        self._status.content = status_html(snapshot)
        if self._controls is not None:
            self._banner.content = banner(snapshot)
        beside = {name: legends.get(name, '') for name in self._beside}
        self._legend.content = ''.join(v for k, v in legends.items() if k not in beside)
        for name, html in beside.items():
            self._beside[name].content = html
        if self._controls is not None:
            self._computing = snapshot.computing is not None
            done = f' ({snapshot.computing:.0%} done)' if self._computing else ''
            self._analyze.label = f'Cancel the workspace{done}' if self._computing else WORKSPACE
        if self.sliders is not None:
            self.sliders.show(snapshot.actuators, now)
            self.sliders.enable(not why_still(snapshot))
            self._rest.disabled = not self.sliders.enabled

    def notice(self, snapshot: Snapshot) -> None:
        """Take note of a moment without showing it; called with every picture."""
        if self.sliders is not None and snapshot.actuators is not None:
            self.sliders.notice(snapshot.actuators)

    def say(self, text: str, good: bool = True) -> None:
        """Show the outcome of the last request."""
        self._answer.content = _small(text, 'inherit' if good else WARNING)

    def _add_target(self, gui: Any) -> None:
        with gui.add_folder('Target'):
            follow = gui.add_checkbox(
                'robot follows',
                initial_value=True,
                hint='off: the solution is only shown, nothing moves',
            )
            task = gui.add_dropdown('must be met', TASKS, initial_value=TASKS[0])
            self._answer = gui.add_html('<small>&nbsp; drag the arrows at the tip</small>')

        @follow.on_update
        async def _(event: Any) -> None:
            self.follow = bool(event.target.value)

        @task.on_update
        async def _(event: Any) -> None:
            if event.target.value in TASKS:
                self.task = event.target.value
                self.on_task(self.task)

    def _add_actuators(self, gui: Any, robot: RobotDescription, controls: RobotRequests) -> None:
        def send(target: Array) -> None:
            self.on_end()
            controls.actuate(target)

        def taken_away() -> None:
            self.on_end()
            controls.withdraw()

        with gui.add_folder('Actuators', expand_by_default=len(robot.actuators) <= FOLDED):
            self.sliders = ActuatorSliders(gui, robot.actuators, robot.coupled_limits, send)
            self.sliders.on_taken_away = taken_away
            rest = self._rest = gui.add_button('All to rest')
            release = gui.add_button('Release', hint='the planner commands nothing any more')
            clear = gui.add_button(
                'Clear', hint='a stop or a fault (driver/clear_fault): moves nothing'
            )

        @rest.on_click
        async def _(event: Any) -> None:
            self.sliders.rest()

        @release.on_click
        async def _(event: Any) -> None:
            controls.release()
            self._end_target()

        @clear.on_click
        async def _(event: Any) -> None:
            controls.clear_fault()
            self._end_target()

    def _add_layers(self, gui: Any, controls: RobotRequests | None) -> None:
        with gui.add_folder('Show'):
            self._legend = gui.add_html('')
            self._beside: dict[str, Any] = {}
            self._computing = False
            layers = {'ghost': ('commanded shape (ghost)', True)}
            if controls is not None:
                layers['ellipsoids'] = ('compliance ellipsoids', False)
            layers['workspace'] = ('workspace', True)
            layers['paths'] = ('desired and actual path', True)
            for name, (label, on) in layers.items():
                gui.add_checkbox(label, initial_value=on).on_update(self._layer(name))
                if name in ('ellipsoids', 'workspace'):
                    self._beside[name] = gui.add_html('')
                elif name == 'paths':
                    gui.add_html(PATHS)
            if controls is not None:
                self._analyze = gui.add_button(
                    WORKSPACE, hint='compliance/analyze_workspace, uses all cores'
                )

                @self._analyze.on_click
                async def _(event: Any) -> None:
                    if self._computing:
                        controls.cancel_workspace()
                    else:
                        controls.analyze_workspace()

    def _layer(self, name: str) -> Callable[[Any], Any]:
        async def changed(event: Any) -> None:
            on = bool(event.target.value)
            self._show(name, on)
            if self._controls is not None:
                self._controls.watch(name, on)

        return changed

    async def _on_stop(self, event: Any) -> None:
        assert self._controls is not None
        self._controls.stop()
        self._end_target()

    def _end_target(self) -> None:
        assert self.sliders is not None
        self.sliders.forget_target()
        self.on_end()


def _small(text: str, colour: str) -> str:
    return f'<small style="color:{colour}">&nbsp; {escape(text)}</small>'
