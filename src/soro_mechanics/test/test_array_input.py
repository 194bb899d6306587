# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Checks of arrays at the public edge."""

import numpy as np
import pytest

from soro_mechanics.core.array_input import all_finite, finite_array
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.core.status import Code


@pytest.mark.parametrize('bad', [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize('shape', [(), (1,), (6,), (4, 4), (300,)])
def test_one_number_that_is_not_finite_is_found_wherever_it_stands(shape, bad):
    for place in range(int(np.prod(shape))):
        array = np.ones(shape)
        assert all_finite(array)
        array.flat[place] = bad
        assert not all_finite(array)


def test_infinities_do_not_cancel_and_large_numbers_are_finite():
    assert not all_finite(np.array([np.inf, -np.inf]))
    assert all_finite(np.array([1e300, -1e300, np.finfo(float).max]))  # their squares are not
    assert all_finite(np.empty(0))
    assert all_finite(np.arange(16.0).reshape(4, 4)[:, 1::2])


def test_an_argument_is_refused_by_name():
    with pytest.raises(InvalidInput, match='wrench') as refused:
        finite_array('wrench', [0.0, np.nan], (2,))
    assert refused.value.code is Code.NOT_FINITE
