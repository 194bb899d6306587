# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What fk, ik, jacobian, compliance and compare have in common."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
import math
from typing import Any, TYPE_CHECKING

from soro_cli.robot_choice import add_robot_options, running_robot
from soro_cli.tables import note, print_json, print_table

if TYPE_CHECKING:
    from soro_cli.answers import ConfigurationAnswer
    from soro_cli.mechanics_offline import OfflineMechanics
    from soro_cli.mechanics_online import OnlineMechanics

ROWS = ('x', 'y', 'z', 'about x', 'about y', 'about z')  # of a twist
ACTUATION_HELP = (
    'one value per actuator with its unit (0.9bar 0 0), or by name (pair_1=0.9bar; '
    'those left out stay at rest)'
)
PRESENT_OR_TYPED = f'{ACTUATION_HELP}; none: the present one'


def add_mechanics_options(parser: argparse.ArgumentParser) -> None:
    """Declare robot, model and load."""
    add_robot_options(parser, offline=True)
    parser.add_argument(
        '--model', default='', help="mechanical model; default: the node's, or the file's first"
    )
    parser.add_argument(
        '--wrench',
        nargs='+',
        metavar='F',
        help='load at the tip, axes of base_link: three forces (0 0 -0.5N), then moments (0.1Nm)',
    )


def whole(most: int = 2**16 - 1) -> Callable[[str], int]:
    """Return what reads a whole number that a message can carry, from 0 to `most`."""

    def read(text: str) -> int:
        if text.isdecimal() and int(text) <= most:
            return int(text)
        raise argparse.ArgumentTypeError(f'{text!r}: expected a whole number from 0 to {most}')

    return read


def seconds(text: str) -> float:
    """Read a time [s]: with its unit, or a number of seconds."""
    from soro_mechanics.robot_file.quantity import parse, QuantityError

    try:
        value = float(text)
    except ValueError:
        try:
            value = parse(text, 's')[0]
        except QuantityError as error:
            raise argparse.ArgumentTypeError(f'{text!r}: {error}') from None
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f'{text!r} is no finite number')
    return value


@contextmanager
def mechanics(arguments: argparse.Namespace) -> Iterator[OnlineMechanics | OfflineMechanics]:
    """Reach the running robot, or load a robot file where --offline asks for that."""
    if arguments.offline:
        from soro_cli.mechanics_offline import OfflineMechanics

        yield OfflineMechanics(arguments.robot)
        return
    from soro_cli.mechanics_online import OnlineMechanics

    with running_robot(arguments) as robot:
        yield OnlineMechanics(robot)


def check_units(words: Sequence[str], known: bool = False) -> None:
    """Check the units of an actuation, before any robot is looked for.

    `known`: the robot is there, and says itself which units are missing.

    UserError: no actuator has one of them.
    """
    from soro_node import display_units

    missing = display_units.check_units(words)
    for word in () if known else missing:
        note(f'soro: {word!r} has no unit, as only a stretch may; write one, as in 0.9bar, 10mm')


@contextmanager
def asked(
    arguments: argparse.Namespace,
) -> Iterator[tuple[OnlineMechanics | OfflineMechanics, list[float] | None, list[float]]]:
    """Reach the robot as `mechanics` does; gives what was typed too, actuation and wrench in SI.

    No actuation stands for the present one.
    """
    from soro_node import display_units

    words = arguments.actuation
    wrench = display_units.wrench(arguments.wrench)
    check_units(words, arguments.offline)
    with mechanics(arguments) as source:
        values = display_units.actuation(words, source.actuators) if words else None
        if values and arguments.offline:  # computed all the same
            if beyond := display_units.beyond_limits(words, values, source.description):
                note(f'soro: beyond the limits: {"; ".join(beyond)}')
        yield source, values, wrench


def finish(
    answer: Any,
    as_json: bool,
    show: Callable[[], None],
    beside: Mapping[str, object] | None = None,
) -> int:
    """Print an answer, or say why there is none; return the exit code.

    `beside` is what stands in the JSON after the answer's own fields.
    """
    code = answer.error_code
    refused = code == 1 or 100 <= code < 200 or 300 <= code < 400  # there is nothing to show
    if as_json:
        print_json({**asdict(answer), **(beside or {})})
    elif not refused:
        show()
    configuration = getattr(answer, 'configuration', None)
    if code == 0 and configuration is not None and configuration.doubt:
        note(f'soro: warning: {configuration.doubt}')
    return conclude(answer)


def conclude(result: Any) -> int:
    """Say why a result is none, where it is so; return the exit code."""
    code = result.error_code
    if code == 0:
        return 0
    from soro_mechanics.core.status import Code

    name = Code(code).name.lower().replace('_', ' ') if code in list(Code) else f'error {code}'
    note(f'soro: {result.error_message or name}')
    return 1


def json_of(result: Any, *names: str) -> dict[str, Any]:
    """Return fields of an action's result for scripts, behind those that say how it ended."""
    return {name: getattr(result, name) for name in ('error_code', 'error_message', *names)}


def solved(*numbers: float) -> bool:
    """Whether there are numbers to show; what was not solved has none."""
    return all(math.isfinite(x) for x in numbers)


def show_tip(configuration: ConfigurationAnswer) -> None:
    """Print where the tip is."""
    from soro_node.display_units import shown, shown_position

    tip = configuration.tip
    rows = [
        ('position', shown_position(tip.position)),
        ('bending', shown(tip.bending, 'rad')),
        ('direction', _direction(tip.position)),
        ('quaternion', ' '.join(f'{v:.4f}' for v in tip.quaternion) + '  (x y z w)'),
        (
            'equilibrium',
            f'{configuration.stability}, residual {configuration.residual:.1e} after '
            f'{configuration.iterations} iterations, {shown(configuration.solve_time, "s")}',
        ),
    ]
    limit, error = configuration.limit_distance, configuration.mesh_error
    if limit == limit:  # NaN: not computed
        more = 'at least twice the' if limit > 1.0 else f'{limit:.1%} more'
        rows.append(('stability', f'lasts for {more} actuation and load'))
    if error == error:
        rows.append(('mesh error', shown(error, 'm')))
    print_table(f'tip in base_link, model {configuration.model}', ('', ''), rows)


def _direction(position: list[float]) -> str:
    """Return the direction in which the tip has left the axis."""
    from soro_node.display_units import shown

    x, y = (round(v, 9) + 0.0 for v in position[:2])  # nm; + 0.0 makes a zero positive
    return shown(math.atan2(y, x), 'rad') if x or y else 'on the axis'
