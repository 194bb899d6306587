# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What kernels see of a named tuple by reference is what Python sees of it."""

import copy
import gc
import pickle
from typing import NamedTuple

import numpy as np
import pytest

from soro_mechanics.compilation.kernels import kernel
from soro_mechanics.compilation.kernels_by_reference import by_reference, copied


@by_reference
class Pair(NamedTuple):
    row: np.ndarray
    count: int


@by_reference
class Inner(NamedTuple):
    values: np.ndarray
    on: bool


@by_reference
class Outer(NamedTuple):
    flag: bool
    number: int
    share: float
    vector: np.ndarray
    index: np.ndarray
    mask: np.ndarray
    block: np.ndarray
    pair: Pair
    inner: Inner


class Elsewhere:
    """Another class of that name."""

    @by_reference
    class Inner(NamedTuple):
        values: np.ndarray
        on: bool


def made(seed: int = 0) -> Outer:
    rng = np.random.default_rng(seed)
    return Outer(
        True,
        -(2**40) + seed,
        -0.1 - seed,
        rng.normal(size=5),
        rng.integers(-9, 9, 4),
        rng.random(6) < 0.5,
        rng.normal(size=(2, 3, 4)),
        Pair(rng.normal(size=(1, 3)), 7),
        Inner(rng.normal(size=(0, 2)), False),
    )


@kernel
def _sum_into(o, out):
    """Write one number per field."""
    out[0] = 1.0 if o.flag else 0.0
    out[1] = o.number
    for i in range(o.vector.shape[0]):
        out[2] += (i + 1) * o.vector[i]
    for i in range(o.index.shape[0]):
        out[3] += (i + 1) * o.index[i]
    for i in range(o.mask.shape[0]):
        out[4] += (i + 1) if o.mask[i] else 0
    part = o.block[1, :, 1:3]  # strides
    for i in range(part.shape[0]):
        for j in range(part.shape[1]):
            out[5] += (10 * i + j) * part[i, j]
    for j in range(o.pair.row.shape[1]):
        out[6] += (j + 1) * o.pair.row[0, j]
    out[7] = o.pair.count
    out[8] = 10 * o.inner.values.shape[0] + o.inner.values.shape[1]
    out[9] = 1.0 if o.inner.on else 0.0
    out[10] = o.share


@kernel
def _seen(o, out):
    _sum_into(o, out)


def seen(o: Outer) -> np.ndarray:
    out = np.zeros(11)
    _seen(o, out)
    return out


def expected(o: Outer) -> np.ndarray:
    def weighed(values):
        return np.arange(1, len(values) + 1) @ values

    part = o.block[1, :, 1:3]
    weights = 10 * np.arange(3)[:, None] + np.arange(2)
    sums = [weighed(o.vector), weighed(o.index), weighed(o.mask), (weights * part).sum()]
    rest = [
        weighed(o.pair.row[0]),
        o.pair.count,
        10 * len(o.inner.values) + 2,
        o.inner.on,
        o.share,
    ]
    return np.array([o.flag, o.number, *sums, *rest], float)


def test_a_kernel_sees_every_field():
    for seed in range(3):
        assert seen(made(seed)) == pytest.approx(expected(made(seed)), rel=1e-12)


@pytest.mark.parametrize(
    'changed',
    [
        {'flag': False},
        {'number': 3},
        {'share': 0.25},
        {'vector': np.arange(9.0), 'mask': np.ones(2, bool)},
        {'block': np.arange(60.0).reshape(2, 3, 10)},
        {'pair': Pair(np.ones((1, 5)), -1)},
        {'inner': Inner(np.zeros((3, 2)), True)},
    ],
)
def test_a_replaced_field_is_seen_and_the_tuple_before_stays(changed):
    before = made()
    after = before._replace(**changed)
    assert seen(after) == pytest.approx(expected(after), rel=1e-12)
    assert seen(before) == pytest.approx(expected(made()), rel=1e-12)
    for name, value in changed.items():
        assert getattr(after, name) is value
    assert after.index is before.index


def test_what_is_written_is_read_again():
    @kernel
    def running(o):
        total = 0.0
        for i in range(o.vector.shape[0]):
            o.vector[i] = o.inner.values[0, 0]
            o.inner.values[0, 0] += o.vector[i] + o.index[0]
            o.index[0] += 1
            total += o.vector[i]
        return total

    shared = np.ones((1, 2))
    o = made()._replace(inner=Inner(shared, False), index=np.array([1, 0, 0, 0]))
    assert running(o) == 1 + 3 + 8 + 19 + 42
    assert shared[0, 0] == 89 and o.index[0] == 6
    assert o.vector.tolist() == [1, 3, 8, 19, 42]


def test_a_kernel_may_copy_and_return_what_it_makes():
    @kernel
    def copied(o):
        return o.block[1].copy(), np.ones(3) * o.number

    o = made()
    for _ in range(100):
        block, ones = copied(o)
    assert (block == o.block[1]).all() and (ones == o.number).all()
    block[:] = 0.0
    assert o.block[1].any()


def test_its_arrays_live_as_long_as_it_does():
    kept = [made(k)._replace(vector=np.full(1000, float(k))) for k in range(50)]
    gc.collect()
    np.full(100_000, np.nan)
    assert [seen(o)[2] for o in kept] == [500_500.0 * k for k in range(50)]


COPIES = [
    copy.deepcopy,
    lambda o: pickle.loads(pickle.dumps(o)),
    lambda o: copied(o, 'vector', 'block')._replace(inner=copied(o.inner, 'values')),
]


@pytest.mark.parametrize('again', COPIES)
def test_a_copy_has_arrays_of_its_own(again):
    before = made()
    other = again(before)
    assert type(other) is Outer and seen(other) == pytest.approx(expected(before), rel=1e-12)
    other.vector[:] = 0.0
    assert seen(other)[2] == 0.0 and seen(before)[2] == pytest.approx(expected(made())[2])


def test_it_reads_like_a_named_tuple():
    o = made()
    assert list(o)[1] == o.number and [*o._asdict()][3] == 'vector'
    assert o._asdict() == dict(zip(o._asdict(), o, strict=True))
    assert len(o) == len([*o]) and o[3] is o.vector and o[-1] is o.inner and o[5:7] == (*o,)[5:7]
    assert o == o and o != made()
    for wrong in ({'nothing': 1}, {'flag': True}):
        with pytest.raises(TypeError):
            Outer(*o, **wrong)


def test_a_field_is_not_assigned():
    o = made()
    with pytest.raises(AttributeError):
        o.vector = np.ones(3)
    assert seen(o) == pytest.approx(expected(made()), rel=1e-12)


@pytest.mark.parametrize(
    'changed',
    [
        {'vector': np.ones((2, 2))},
        {'vector': np.ones(5, np.float32)},
        {'vector': np.ones(10)[::2]},
        {'index': np.ones(5)},
        {'number': 1.5},
        {'flag': 1},
        {'share': 1},
        {'inner': Pair(np.ones((1, 2)), 1)},
    ],
)
def test_a_field_of_another_type_is_refused(changed):
    with pytest.raises(TypeError):
        made()._replace(**changed)
    with pytest.raises(TypeError):
        Outer(**{**made()._asdict(), **changed})


def test_classes_of_one_name_are_told_apart():
    @kernel
    def first(o):
        return o.values[0, 0]

    one, other = Inner(np.full((1, 2), 2.0), True), Elsewhere.Inner(np.full((1, 2), 3), True)
    for _ in range(2):
        assert first(one) == 2.0 and first(other) == 3
