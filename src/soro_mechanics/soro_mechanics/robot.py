# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The public face of a robot: `load_robot` and `Robot`. Inputs are checked here, once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
import math
import os
from typing import Any, TYPE_CHECKING

import numpy as np

from soro_mechanics.analysis.conditioning import Conditioning, conditioning
from soro_mechanics.compilation import first_calls
from soro_mechanics.compilation.numba_start import load_numba
from soro_mechanics.core import robot_input
from soro_mechanics.core.actuators import Actuator, limit_violations
from soro_mechanics.core.array_input import all_finite, finite_array
from soro_mechanics.core.configuration import (
    Array,
    Configuration,
    Guess,
    InverseSolution,
    Load,
    LoadCase,
    ORIENTATION_TOLERANCE,
    POSITION_TOLERANCE,
    Target,
    Task,
)
from soro_mechanics.core.errors import InvalidInput, UnknownName
from soro_mechanics.core.model import Model
from soro_mechanics.core.old_names import offer_old_names, renamed_argument
from soro_mechanics.core.status import Code
from soro_mechanics.inverse.multistart import MultiStart
from soro_mechanics.robot_file import registry
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file, RobotDescription

if TYPE_CHECKING:
    from soro_mechanics.dynamics.events import Watched
    from soro_mechanics.dynamics.simulation import Simulation
    from soro_mechanics.dynamics.stepper import Options
    from soro_mechanics.models.network.network_studies import NetworkStudies

COMPUTABLE = 'numbers that a model of this robot can still compute with'


def load_robot(robot: str | os.PathLike[str], model: str | None = None) -> Robot:
    """Load a robot by the name of a catalogue file or by the path of a YAML file.

    Parameters
    ----------
    robot : str or path
        `soro_mechanics.robot_file.catalogue` says where a name is searched.
    model : str, optional
        One of the robot's models; the default is the first one its file names.

    Raises
    ------
    UnknownName
        No such robot, or no such model of it; the error lists the valid names and, for a robot,
        the folders that were searched.
    RobotFileError
        The file is wrong: field, value and remedy.
    """
    return Robot(read_robot_file(find_robot_file(robot)), model)


class Robot(robot_input.RobotInput):
    """A robot and one of its models."""

    def __init__(self, description: RobotDescription, model: str | None = None) -> None:
        name = description.models[0] if model is None else model
        if not isinstance(name, str) or name not in description.models:
            raise UnknownName('model', name, description.models, Code.UNKNOWN_MODEL)
        load_numba()
        self.description = description
        kind = registry.resolve(registry.MODELS[name][1])
        first_calls.begin(str(description.file), name)
        self._model: Model = kind(description)
        self._gravity = description.gravity.copy()
        self._others = MultiStart()

    @property
    def name(self) -> str:
        """Identifier of the robot."""
        return self.description.name

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models of this robot, the default first."""
        return self.description.models

    @property
    def actuators(self) -> tuple[Actuator, ...]:
        """The actuators, in the order of every actuation vector."""
        return self.description.actuators

    @property
    def limits(self) -> Array:
        """Lower and upper limit of each actuator, shape (m, 2), SI."""
        return np.array([[a.minimum, a.maximum] for a in self.actuators])

    @property
    def gravity(self) -> Array:
        """Gravity in base_link, shape (3,) [m/s^2]; set it to mount the robot another way."""
        return self._gravity.copy()

    @gravity.setter
    def gravity(self, value: Any) -> None:
        self._gravity = finite_array('gravity', value, (3,))

    @property
    def model_object(self) -> Model:
        """The model itself, for what it alone offers (ports, studies); see its page in docs."""
        first_calls.finish()
        return self._model

    def with_model(self, model: str) -> Robot:
        """Return the same robot, mounted the same way, computed by another of its models."""
        other = Robot(self.description, model)
        other.gravity = self._gravity
        return other

    def violations(self, actuation: Any) -> tuple[str, ...]:
        """Name every limit that an actuation exceeds; empty when it is feasible."""
        values = finite_array('actuation', actuation, (len(self.actuators),))
        return tuple(limit_violations(self.actuators, self.description.coupled_limits, values))

    def feasible(self, actuation: Any) -> bool:
        """Whether an actuation keeps every limit, the coupled ones too."""
        return not self.violations(actuation)

    def forward(
        self,
        actuation: Any,
        wrench: Any = None,
        guess: Configuration | InverseSolution | None = None,
        loads: Sequence[Load] = (),
    ) -> Configuration:
        """Solve the equilibrium under an actuation.

        Parameters
        ----------
        actuation : array_like, shape (m,)
            SI, in the order of `actuators`. Values beyond the limits are computed as asked
            (`violations` names them); drivers are what enforces limits.
        wrench : array_like, shape (6,), optional [N, N m]
            Dead load at the tip, axes of base_link, force first.
        guess : Configuration or InverseSolution, optional
            An earlier result of this robot, to start from.
        loads : sequence of Load
            Further loads.

        Raises
        ------
        InvalidInput
            Not finite, of another size, or so large that the result is not finite.
        """
        values = finite_array('actuation', actuation, (len(self.actuators),))
        load = self._load(wrench, loads)
        try:
            q = self._model.forward(values, load, self._guess(guess))
            # What was not solved holds no numbers and says so in its status.
            computed = not q.status.converged or all_finite(q.tip)
        except np.linalg.LinAlgError:
            computed = False
        if not computed:
            field = 'actuation' if self.violations(values) else 'wrench or loads'
            given = values if field == 'actuation' else load.wrench
            raise InvalidInput(field, given.tolist(), COMPUTABLE)
        return q

    def inverse(
        self,
        target: Any,
        wrench: Any = None,
        guess: Configuration | InverseSolution | None = None,
        loads: Sequence[Load] = (),
        task: Task | None = None,
        position_tolerance: float = POSITION_TOLERANCE,
        orientation_tolerance: float = ORIENTATION_TOLERANCE,
        multistart: bool | None = None,
        **old: Any,
    ) -> InverseSolution:
        """Find the actuation that brings the tip to a target.

        Parameters
        ----------
        target : array_like, shape (3,) or (4, 4)
            Position [m] (orientation free) or pose in base_link.
        task : Task, optional
            What of a pose must be met; default POSITION for (3,), POSE for (4, 4).
        position_tolerance, orientation_tolerance : float
            The solution counts as reached within these [m], [rad].
        multistart : bool, optional
            Whether to begin again from other postures, where the search from the guess ends short
            of the target; what is found then may be far from the guess. Default: where no guess
            is given. The first time it takes as long as 128 forward solves more, unless
            `precompute_seeds` has been called. At most four searches more, none begins after 1200
            of their iterations: see `status.iterations` and `status.message`.

        Returns
        -------
        InverseSolution
            Its status says when the target is unreachable, stopped by a limit or not converged.
        """
        if old:
            multistart = renamed_argument(old, 'elsewhere', 'multistart')
        if multistart is not None and not isinstance(multistart, bool | np.bool_):
            raise InvalidInput('multistart', multistart, 'True, False or None')
        goal = robot_input.checked_target(
            target, task, (position_tolerance, orientation_tolerance)
        )
        first_calls.finish()  # a search has a time limit
        load = self._load(wrench, loads)
        first = self._searched(self._model.inverse, load, goal, self._guess(guess))
        if guess is None if multistart is None else multistart:
            search = partial(self._searched, self._model.inverse, load)
            explain = partial(self._explained, load, goal)
            return self._others.improved(self, first, search, explain, goal)
        return self._explained(load, goal, first) if first.unexplained else first

    def precompute_seeds(self) -> None:
        """Solve now the postures from which a `multistart` of `inverse` begins."""
        first_calls.finish()
        self._others.postures(self)

    def _searched(
        self, ask: Callable[..., InverseSolution], load: LoadCase, target: Target, start: Any
    ) -> InverseSolution:
        """Ask the model from one start; InvalidInput for numbers that it cannot compute with."""
        try:
            found = ask(target, load, start)
            q, errors = found.configuration, found.position_error + found.orientation_error
            # A finite error is that of a finite tip; of what is not solved nobody expects one.
            computed = math.isfinite(errors) or not q.status.converged or all_finite(q.tip)
        except np.linalg.LinAlgError:
            computed = False
        if not computed:
            place = target.pose[:3, 3].tolist()
            raise InvalidInput('target, wrench or loads', place, COMPUTABLE)
        return found

    def _explained(self, load: LoadCase, goal: Target, found: InverseSolution) -> InverseSolution:
        if not found.unexplained:
            return found
        return self._searched(self._model.explained, load, goal, found)

    def jacobian(self, q: Configuration) -> Array:
        """Return (6, m): tip twist (linear first, at the tip, base axes) per actuation unit.

        NaN, like compliances, where q is not converged.
        """
        if not self._own(q).status.converged:
            return np.full((6, len(self.actuators)), np.nan)
        return self._model.jacobian(q)

    def compliance(self, q: Configuration, wrench: Any = None, method: str = 'tangent') -> Array:
        """Return the (6, 6) compliance at the tip, base axes, linear first.

        Parameters
        ----------
        wrench : array_like, shape (6,), optional
            Linearise at this tip load instead of the one in `q` (the equilibrium is solved again).
        method : 'tangent', 'integral', 'midpoint' or 'trapezoid'
            The exact tangent of the loaded equilibrium (what a finite difference of `forward`
            gives), or the published integral (4) that neglects the load's geometric term, or one
            of the published sums (5) over the elements of a segment model.
        """
        method = robot_input.method_name(method, self._model)
        q = self._at_wrench(self._own(q), wrench)
        if not q.status.converged:
            return np.full((6, 6), np.nan)
        return self._model.compliance(q, method)

    def compliance_along(
        self, q: Configuration, wrench: Any = None, method: str = 'tangent'
    ) -> tuple[Array, ...]:
        """Return, per backbone, the compliance (n, 6, 6) at every station of `q.backbones`."""
        method = robot_input.method_name(method, self._model)
        q = self._at_wrench(self._own(q), wrench)
        if not q.status.converged:
            return tuple(np.full((len(arc), 6, 6), np.nan) for arc in q.arc_lengths)
        return self._model.compliance_along(q, method)

    def workspace(self, samples: Any, executor: Any = None) -> Any:
        """Compute many configurations; see `analysis.workspace.sample_workspace`."""
        from soro_mechanics.analysis.workspace import sample_workspace  # loads the batch machinery

        return sample_workspace(self, samples, executor)

    def examine(self, q: Configuration) -> Configuration:
        """Return q with everything in its status that one solve does not tell.

        `limit_distance` (NEAR_INSTABILITY below a quarter), `mesh_error` (COARSE_MESH above
        0.05 % of the length), and SEVERAL_BRANCHES where another equilibrium is easily found.
        Takes as long as some twelve forward solves; for what one does with it before a robot
        moves there, not for loops.
        """
        from soro_mechanics.analysis.equilibria import examined

        return examined(self._model, self._solved(q))

    def solutions(self, q: Configuration, starts: int = 20, seed: int = 0) -> list[Configuration]:
        """Return the different equilibria found at the actuation and load of q, q first.

        Every start goes to a random actuation and tip load, and comes back. A branch that was not
        found may still exist. Unstable ones carry their status.
        """
        from soro_mechanics.analysis.equilibria import solutions

        starts, seed = robot_input.whole('starts', starts), robot_input.whole('seed', seed, 0)
        return solutions(self._model, self._solved(q), starts, seed)

    def limit_distance(self, q: Configuration, actuation: Any = None, wrench: Any = None) -> float:
        """Return how far along a straight path stability lasts.

        Parameters
        ----------
        q : Configuration
            Where the path starts.
        actuation, wrench : array_like, shape (m,) and (6,), optional
            Change of actuation and tip load along the path; where one is given the other is zero
            by default. None of them: the present ones once more (actuation from its rest on).

        Returns
        -------
        float
            Part of the change at the nearest limit point, to 0.001; zero where q is unstable,
            infinite where the whole path is stable. Of models that do not examine stability:
            where they stop to converge.
        """
        from soro_mechanics.analysis.equilibria import limit_distance

        m = len(self.actuators)
        if actuation is None and wrench is None:
            change, load = self._solved(q).actuation - self.description.rest, q.wrench
        else:
            zero = np.zeros(m)
            change = zero if actuation is None else finite_array('actuation', actuation, (m,))
            load = robot_input.wrench_array(wrench)
        return limit_distance(self._model, self._solved(q), change, load)

    def simulate(
        self,
        duration: float,
        step: float = 1e-3,
        actuation: Any = None,
        wrench: Any = None,
        gravity: Any = None,
        loads: Sequence[Load] = (),
        start: Guess = None,
        *,
        tolerance: float | None = None,
        options: Options | None = None,
        events: Sequence[Watched] = (),
    ) -> Simulation:
        """Simulate the motion from rest (model network; see docs/models/dynamics.md).

        Parameters
        ----------
        duration, step : float [s]
            With `tolerance`, `step` is the longest one.
        actuation, wrench, gravity : callable or array_like, optional
            Of time [s] from 0; or a constant, shape (m,), (6,), (3,); or one row a step, the start
            included. Default: as at the start. Wrench: dead load at the tip, axes of base_link.
        loads : sequence of Load
            Constant.
        start : Configuration, optional
            Where the robot rests until time 0, when the inputs begin to act; default: the
            equilibrium at their first values.
        tolerance : float, optional [m]
            Steps are chosen so that each adds about so much to the error of positions.
        options : soro_mechanics.dynamics.stepper.Options, optional
            Mesh, damping, integration, contacts.
        events : sequence of callable
            Of time [s] and stepper; where one changes its sign is marked, or ends the simulation
            (its attribute `terminal`); see `soro_mechanics.dynamics.events`.
        """
        from soro_mechanics.dynamics.robot_motion import simulate

        inputs = actuation, wrench, gravity
        start = None if start is None else self._own(start, 'start')
        given = self, duration, step, inputs, loads, start
        return simulate(*given, tolerance=tolerance, options=options, events=events)

    def refinement(self, q: Configuration) -> tuple[float, float]:
        """Return how far the tip moves [m], [rad] on a mesh twice as fine; NaN: not known."""
        return self._model.refinement(self._solved(q))

    @property
    def network(self) -> NetworkStudies:
        """What only model network computes: frequencies, strains and clearance, sensitivities."""
        from soro_mechanics.models.network.network_studies import network_studies

        first_calls.finish()  # studies solve many times
        return network_studies(self._model, self._solved)

    def conditioning(self, q: Configuration, length: float) -> Conditioning:
        """Return how evenly the actuators move the tip, rotations times `length` [m]."""
        scale, jacobian = robot_input.positive('length', length), self.jacobian(q)
        if not all_finite(jacobian):
            raise InvalidInput('q', q.status.code.name, robot_input.CONVERGED)
        return conditioning(jacobian, scale)


offer_old_names(Robot)
