# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Virtual objects travel as messages, and wrong ones are refused with their field."""

import math

import numpy as np
import pytest

from soro_haptics.environment_messages import object_to_message, objects_from_messages, words_of
from soro_mechanics.core.errors import InvalidInput, UnknownName
from soro_mechanics.haptics.virtual_environment import (
    Control,
    PRESETS,
    published_environment,
    Shape,
    VirtualEnvironment,
)
from soro_mechanics.haptics.virtual_environment import VirtualObject as MovingBall
from soro_msgs.msg import VirtualObject


@pytest.mark.parametrize('name', PRESETS)
def test_published_environments_survive_the_way_through_messages(name):
    objects = published_environment(name, np.eye(4))
    back = objects_from_messages([object_to_message(o) for o in objects])
    assert len(back) == len(objects)
    for one, other in zip(objects, back, strict=True):
        np.testing.assert_allclose(other.pose, one.pose, atol=1e-12)
        np.testing.assert_array_equal(other.size, one.size)
        for field in ('name', 'shape', 'control', 'stiffness', 'rotational_stiffness', 'damping'):
            assert getattr(other, field) == getattr(one, field)


def test_what_is_rough_and_moves_survives_too():
    ball = MovingBall('ball', Shape.SPHERE, size=[0.02, 0, 0], friction=0.3, follows_goal=True)
    (back,) = objects_from_messages([object_to_message(ball)])
    assert (back.friction, back.follows_goal, back.shape) == (0.3, True, Shape.SPHERE)


def test_constants_are_those_of_the_message():
    for shape in Shape:
        assert getattr(VirtualObject, shape.name) == shape
    for control in Control:
        assert getattr(VirtualObject, control.name) == control


@pytest.mark.parametrize(
    ('field', 'value', 'error'),
    [
        ('stiffness', math.nan, InvalidInput),
        ('shape', 99, UnknownName),
        ('name', '', InvalidInput),
        ('control', VirtualObject.ADMITTANCE, InvalidInput),
        ('friction', 0.3, InvalidInput),
    ],
)
def test_wrong_objects_are_refused_by_index_and_field(field, value, error):
    good = object_to_message(published_environment('wall', np.eye(4))[0])
    bad = object_to_message(published_environment('hold', np.eye(4))[0])
    setattr(bad, field, value)
    with pytest.raises(InvalidInput, match=rf'objects\[1\].{field}'):
        objects_from_messages([good, bad])
    assert issubclass(error, InvalidInput)


def test_environments_have_words():
    assert words_of(VirtualEnvironment()) == 'free space'
    assert words_of(VirtualEnvironment(published_environment('wall', np.eye(4)))) == 'wall (wall)'
