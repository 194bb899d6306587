# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Every key of schema 2. docs/robot_file.md explains them; reader and JSON Schema read these."""

from __future__ import annotations

from soro_mechanics.core.actuators import QUANTITIES
from soro_mechanics.models.network.description.cross_section import SHAPES
from soro_mechanics.models.network.description.spec import DRIVES, ENDS, JOINTS, TENDONS
from soro_mechanics.models.segments.schema import RULES, WEIGHT
from soro_mechanics.robot_file.schema2.key import (
    either,
    FLAG,
    FREE,
    Key,
    named,
    NAMES,
    need,
    NUMBER,
    NUMBERS,
    q,
    rows,
    Table,
    table,
    TEXT,
    text,
    Variants,
    WHOLE,
)

# What a drive may do to a body that no model computes yet.
LATER_ACTS = ('torque', 'force', 'displacement', 'prismatic', 'rotation')

POSE: Table = {
    'position': q('m', size=3),
    'polar': table({'radius': need(q('m')), 'angle': need(q('rad')), 'height': q('m')}),
    'rotation': q('rad', 'rotation vector', size=3),
    'direction': q('1', 'of local z', size=3),
}
HOLE: Table = {
    'position': q('m', 'in the section', size=2),
    'polar': table({'radius': need(q('m')), 'angle': need(q('rad'))}),
}
DAMPING = q('s', 'retardation of the material: damping over stiffness')
SECTION: Table = {
    'shape': text(*SHAPES),
    'radius': q('m', 'outer; of a section by its stiffness: for drawing and surface strain'),
    'inner_radius': q('m', 'of a tube'),
    'width': q('m', 'of a rectangle, along local x'),
    'thickness': q('m', 'of a rectangle, along local y'),
    'young': q('Pa'),
    'poisson': NUMBER,
    'shear_modulus': q('Pa', 'instead of poisson'),
    'shear_factor': NUMBER,
    'density': q('kg/m^3'),
    'stiffness': table(
        {
            'axial': need(q('N')),
            'shear': q('N'),
            'bending_x': need(q('N m^2')),
            'bending_y': q('N m^2'),
            'torsion': need(q('N m^2')),
        },
        'instead of shape and material',
    ),
    'mass_per_length': q('kg/m', 'with stiffness; with a shape write density'),
    'strain_limit': NUMBER,
    'damping': DAMPING,
}
END: Table = {
    'body': need(TEXT),
    **POSE,
    'motor': table({'axis': need(q('1', size=3)), 'crank': table(POSE)}),
    'joint': text(*JOINTS),
    'axis': q('1', size=3),
    'second_axis': q('1', size=3),
}
ELASTIC: Table = {
    'young': need(q('Pa')),
    'poisson': NUMBER,
    'shear_modulus': q('Pa', 'instead of poisson'),
    'density': q('kg/m^3'),
}
CHAMBER: Table = {
    'drive': need(text(about='name of the drive that fills it')),
    'area': q('m^2', 'of all chambers that this drive fills together'),
    'offset': need(q('m', 'of their resultant from the axis')),
    'angle': q('rad', 'of the resultant from local x about local z'),
}
SEGMENT: Table = {
    'name': need(TEXT),
    'length': need(q('m', 'effective, at rest')),
    'radius': need(q('m', 'outer')),
    'inner_radius': q('m', 'of a ring, with material'),
    'material': table(ELASTIC, 'instead of stiffness and linear density; chambers are holes'),
    'axial_stiffness': q('N', 'EA'),
    'bending_stiffness': q('N m^2', 'EI'),
    'torsion_stiffness': q('N m^2', 'GJ; two thirds of EI where nothing is written'),
    'shear_factor': q('1', 'k in GA = k EA / 3'),
    'linear_density': q('kg/m', 'of unloaded length'),
    'strain_limit': NUMBER,
    'damping': DAMPING,
    'rest_curvature': q('1/m', size=3),
    'chambers': need(rows(CHAMBER)),
    'link': q('m', 'rigid piece behind the segment'),
    'link_mass': q('kg'),
    'shortest_length': q('m', 'of an actuator'),
    'longest_length': q('m', 'of an actuator'),
    'elongation': table(
        {'reference_pressure': need(q('Pa')), 'linear': need(q('m')), 'quadratic': q('m')},
        'of a free actuator: linear p + quadratic p^2, p in units of the reference',
    ),
}
TIP: Table = {'name': TEXT, 'mass': q('kg', 'caps and sensors'), 'offset': q('m', size=3)}
CHAIN: Table = {'segments': need(rows(SEGMENT)), 'tip': table(TIP)}
LEGS: Table = {
    'legs': need(rows({'name': need(TEXT), 'drive': need(TEXT), 'angle': need(q('rad'))})),
    'length': need(q('m', 'flexible length of a leg at rest')),
    'radius': need(q('m', 'outer, of a leg')),
    'inner_radius': q('m', 'of a tube, with material'),
    'material': table(ELASTIC, 'instead of stiffness and mass'),
    'axial_stiffness': q('N', 'EA'),
    'bending_stiffness': q('N m^2', 'EI'),
    'torsion_stiffness': q('N m^2', 'GJ'),
    'mass': q('kg', 'of a leg'),
    'damping': DAMPING,
    'spacing_ratio': need(q('1', 'distance of two legs on the base over their length')),
    'platform': need(
        table(
            {
                'name': TEXT,
                'radius': need(q('m')),
                'mass': need(q('kg')),
                'centre': q('m', 'of mass', size=3),
            }
        )
    ),
    'tip': table({'offset': q('m', 'in the frame of the platform', size=3)}),
}
MATERIAL: Table = {'young': need(q('Pa')), 'shear_modulus': need(q('Pa'))}
MUSCLES: Table = {
    'modules': need(WHOLE),
    'backbone': need(
        table(
            {
                'length': need(q('m')),
                'diameter': need(q('m')),
                'material': need(TEXT),
                'materials': need(named(MATERIAL)),
                'shear_factor': NUMBER,
                'mass': need(q('kg', 'of the whole robot, spread evenly')),
                'damping': DAMPING,
            }
        )
    ),
    'muscles': need(
        table(
            {
                'distance': need(q('m', 'of their ends from the backbone')),
                'diameter': need(q('m', 'for drawing')),
                'axial_stiffness': q('N'),
                'shear_stiffness': q('N'),
                'bending_stiffness': q('N m^2'),
                'torsion_stiffness': q('N m^2'),
            }
        )
    ),
}
CURVATURES = {'at': need(q('1', 'part of the length')), 'curvature': need(q('1/m', size=3))}
RODS: Table = {
    'sections': need(named(SECTION)),
    'bodies': need(
        named({**POSE, 'mass': q('kg'), 'centre': q('m', 'of mass', size=3),
               'inertia': q('kg m^2', 'principal moments about the centre', size=3)})
    ),
    'rods': need(
        rows(
            {
                'name': need(TEXT),
                'section': need(TEXT),
                'section_end': text(about='of a taper'),
                'length': need(q('m')),
                'rest_curvature': either(q('1/m', size=3), rows(CURVATURES)),
                'from': need(table(END)),
                'to': need(table(END)),
            }
        )
    ),
    'chambers': named(
        {'rods': need(NAMES), 'parts': need(rows({'area': need(q('m^2')), 'position':
                                                  need(q('m', 'in the section', size=2))}))}
    ),
    'tendons': named(
        {'rods': need(NAMES), **HOLE, 'from': q('m'), 'to': q('m'), 'stiffness': q('N/m'),
         'routing': rows({'at': need(q('m', 'arc length')), **HOLE},
                         'place in the section as a function of arc length')}
    ),
    'tip': need(table({'body': need(TEXT), **POSE})),
}  # fmt: skip
BODY = Variants('kind', {'chain': CHAIN, 'legs': LEGS, 'muscles': MUSCLES, 'rods': RODS})

HYSTERESIS: Table = {
    'operator': need(text('prandtl_ishlinskii')),
    'thresholds': need(Key('numbers', about='half-widths of the plays, parts of the range')),
    'weights': need(Key('numbers', about='of the plays; their sum is the gain')),
}


def _acts(unit: str) -> Variants:
    """Return what a drive of a unit does to the rods."""
    tables: dict[str, Table] = {}
    for kind, driven in DRIVES.items():
        value = QUANTITIES[driven][1]
        points = rows({'at': need(q(unit)), 'value': need(q(value))}, 'of the drive, of the rod')
        one: Table = {'curve': points}
        if kind == 'pressure':
            one['chambers'] = need(NAMES)
        elif kind in TENDONS:
            one['tendons'] = need(NAMES)
        else:
            one['rods'] = need(NAMES)
        if kind == 'angle':
            one |= {'end': text(*ENDS), 'offset': q('rad')}
        if kind == 'curvature':
            one['direction'] = need(q('1', size=3))
        tables[kind] = one
    for kind in LATER_ACTS:
        tables[kind] = {'rods': NAMES, 'body': TEXT, 'end': text(*ENDS), 'axis': q('1', size=3)}
    for one in tables.values():
        one['ratios'] = Key('numbers', about='signed, one per name: a coupled drive')
    return Variants('drives', tables)


def _drive(unit: str, rate: str) -> Table:
    return {
        'name': need(TEXT),
        'minimum': need(q(unit)),
        'maximum': need(q(unit)),
        'rate': need(q(rate)),
        'rest': q(unit),
        'acts': rows(_acts(unit), 'what it does to a body of kind rods'),
        'curve': table(
            {'at': need(q(unit, size=0)), 'stretch': need(NUMBERS)}, 'of a leg, by this drive'
        ),
        'hysteresis': table(HYSTERESIS, 'which the planner undoes'),
        'creep': table(
            {'part': need(either(NUMBER, NUMBERS)), 'time_constant': need(q('s', size=0))},
            'which the planner undoes: what of the response comes late',
        ),
    }


DRIVE = Variants(
    'quantity', {name: _drive(unit, rate) for name, (_, unit, rate) in QUANTITIES.items()}
)

_PLACE: Table = {'rod': need(TEXT), 'at': q('m'), 'from': q('m'), 'to': q('m')}
_LOAD: Table = {
    **_PLACE,
    'force': either(q('N', size=3), q('N/m', size=3)),
    'moment': q('N m', size=3),
}
LOAD = Variants(
    'kind',
    {
        'dead': _LOAD,
        'follower': _LOAD,
        'spring': {
            'body': need(TEXT),
            'anchor': need(q('m', size=3)),
            'stiffness': need(q('N/m')),
            'rest_length': q('m'),
        },
        'field': {'body': need(TEXT), 'direction': need(q('1', size=3)), 'force': need(q('N'))},
        'contact': {
            'body': need(TEXT),
            'point': need(q('m', size=3)),
            'normal': need(q('1', size=3)),
            'stiffness': need(q('N/m')),
            'friction': NUMBER,
        },
    },
)
_STRIP: Table = {
    'name': need(TEXT),
    'rod': need(TEXT),
    'from': need(q('m')),
    'length': need(q('m')),
}
SENSOR = Variants(
    'kind',
    {
        'flex': {'distance': need(q('m', 'from the neutral fibre')),
                 'deviation': need(q('m', 'of the elongation before a calibration')),
                 'strips': need(rows(_STRIP))},
        'bend': {'name': need(TEXT), 'rod': need(TEXT), 'from': need(q('m')),
                 'to': need(q('m')), 'axis': need(q('1', size=3))},
        'pressure': {'name': need(TEXT), 'drive': need(TEXT), 'deviation': q('Pa')},
        'marker': {'name': need(TEXT), 'body': need(TEXT), 'position': q('m', size=3),
                   'deviation': q('m')},
        'force': {'name': need(TEXT), 'body': need(TEXT), 'position': q('m', size=3),
                  'deviation': q('N')},
    },
)  # fmt: skip
CONTROL: Table = {
    'haptic': table({'handle_axis': need(q('1', size=3)), 'torque_limit': need(q('N m'))}),
    'mode': text('feedforward', 'feedback', about='of the planner where a goal names none'),
    'gain': q('1/s', 'of the integral of the error of the tip'),
    'damping': q('1', 'of the lowest mode, part of the critical one: bounds the gain'),
    'step': q('1', 'that a drive moves by or not at all, part of its range'),
}

_PLACED: Table = {'position': q('m', size=3), 'rotation': q('rad', 'rotation vector', size=3)}
TRACKER: Table = {
    'index': WHOLE,
    'marker': table(_PLACED),
    'base': table({'frame': need(TEXT), **_PLACED}),
}
FORCE_SENSOR: Table = {
    'frame': need(text(about='frame_id of what it sends')),
    'force': q('N', 'its zero', size=3),
    'moment': q('N m', 'its zero', size=3),
    'mass': q('kg', 'of a tool'),
    'centre': q('m', 'of that', size=3),
}

_SEGMENTS: Table = {
    'elements': WHOLE,
    'compensation': table(
        {'rule': text(*RULES), 'increments': WHOLE, 'threshold': q('Pa'), 'weight': text(*WEIGHT)}
    ),
}
_KIRCHHOFF: Table = {'elements': WHOLE, 'stations_per_module': WHOLE}
_MESH: Table = {
    'mesh': either(
        WHOLE,
        NUMBERS,
        table({'tolerance': q('m'), 'pieces': WHOLE, 'grading': NUMBER}),
        about='elements of a rod',
    )
}
MODEL: dict[str, Table] = {
    'ncm': _SEGMENTS,
    'lcm': _SEGMENTS,
    'npcc': _SEGMENTS,
    'lpcc': _SEGMENTS,
    'constant_curvature': {'stations': WHOLE, 'weightless': FLAG},
    'ancf': {
        'elements': WHOLE,
        'penalty': q('N', 'alpha of eq (27)'),
        'stations_per_element': WHOLE,
    },
    'kirchhoff': _KIRCHHOFF,
    'kirchhoff_published': _KIRCHHOFF,
    'network': {
        **_MESH,
        'rods': named(_MESH),
        'guess': named(POSE, 'where a body is sought first'),
    },
}
# Read by the driver and the emulator, which refuse what is wrong; editors complete from here. The
# section of the device (`channels: {drive: ...}` for any number of drives) is the device's own.
_SECONDS = q('s')
DRIVER: Table = {
    'device': need(text(about='nidaq, dspace, stm32, can, simulated or a plug-in')),
    'rate': need(q('1/s', 'ticks of the control loop')),
    'command_timeout': q('s', 'without a command for longer, the safe action runs'),
    'feedback_timeout': q('s', 'without a measurement for longer, the device counts as lost'),
    'time_to_live': q('s', 'without a write for longer, the device goes safe by itself'),
    'engage_band': q('1', 'nearness of a first command to the measurement, part of the range'),
    'on_command_loss': table(
        {
            'action': need(text('ramp', 'release')),
            'rate': either(*(q(rate) for _, _, rate in QUANTITIES.values())),
        }
    ),
    'supervision': table(
        {
            'over_limit_margin': NUMBER,
            'over_limit_for': _SECONDS,
            'sensor_for': _SECONDS,
            'frozen_for': _SECONDS,
            'rest_margin': NUMBER,
            'rest_for': _SECONDS,
            'follow_time_constant': _SECONDS,
            'follow_tolerance': NUMBER,
            'follow_for': _SECONDS,
        }
    ),
}
_CHANGE: Table = {'path': need(TEXT), 'factor': NUMBER, 'value': FREE}
_MOTION: Table = {'step': _SECONDS, 'elements': WHOLE, 'retardation': _SECONDS, 'drag': q('1/s')}
_MOTION['incompressible'] = FLAG
EMULATOR: Table = {
    'seed': WHOLE,
    'body': table(
        {
            'model': text(*MODEL),
            'plant': text('quasi_static', 'dynamic'),
            'motion': table(_MOTION, 'of a dynamic plant'),
            'hysteresis': NUMBER,
            'hysteresis_law': text('play', 'bouc_wen'),
            'tendon_friction': NUMBER,
            'changes': rows(_CHANGE),
        },
        'what the emulated body has otherwise than the described one',
    ),
}
TOP: Table = {
    'schema': need(WHOLE),
    'name': need(text(about='lower-case letters, digits and _')),
    'title': need(TEXT),
    'reference': TEXT,
    'gravity': need(q('m/s^2', 'in base_link: the mounting', size=3)),
    'body': need(table(BODY, 'what the robot is; models take from it')),
    'drives': need(rows(DRIVE, 'what is commanded, in the order of every actuation vector')),
    'coupled_limits': rows({'name': TEXT, 'coefficients': need(FREE), 'maximum': need(FREE)}),
    'loads': rows(LOAD),
    'sensors': rows(SENSOR),
    'models': need(
        table(
            {name: table(item) for name, item in MODEL.items()},
            'the default first, each with its own numerics',
        )
    ),
    'control': table(CONTROL),
    'tracker': table(TRACKER, '`soro calibrate tracker` writes it'),
    'force_sensor': table(FORCE_SENSOR, '`soro calibrate force` writes it'),
    'driver': Key('free', item=DRIVER, about='how it is driven; without it simulated'),
    'emulator': Key('free', item=EMULATOR, about='the bench that stands in for the robot'),
}
# Which models each kind of body can be given to.
SERVED = {
    'chain': ('ncm', 'lcm', 'npcc', 'lpcc', 'constant_curvature', 'network'),
    'legs': ('ancf', 'network'),
    'muscles': ('kirchhoff', 'kirchhoff_published', 'network'),
    'rods': ('network',),
}
