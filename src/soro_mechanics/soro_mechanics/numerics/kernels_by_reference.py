# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Named tuples of arrays that kernels get as one address.

To Numba a named tuple is the sum of its parts: of every array it takes address, shape and strides
from Python in every call, 0.16 us each, and hands them on to every kernel that is called in turn,
6 kB on the stack for the arrays of a network. That was half of the code of its large kernels.
"""

from __future__ import annotations

from collections.abc import Iterator
import functools
import hashlib
from typing import Any, cast, TypeVar

import numpy as np

from soro_mechanics.numerics.numba_start import import_numba

import_numba()

from numba.core import cgutils, types  # noqa: E402
from numba.core.datamodel import models  # noqa: E402
from numba.core.imputils import lower_getattr_generic  # noqa: E402
from numba.core.types.containers import BaseTuple  # noqa: E402
from numba.core.typing.templates import AttributeTemplate, infer_getattr  # noqa: E402
from numba.extending import NativeValue, register_model, typeof_impl, unbox  # noqa: E402
from numba.np.arrayobj import make_array, populate_array  # noqa: E402
from numba.np.numpy_support import from_dtype  # noqa: E402

Named = TypeVar('Named')
_NUMBERS = {bool: types.boolean, int: types.int64, float: types.float64}


def by_reference(plain: type[Named]) -> type[Named]:
    """Let kernels get a named tuple of C-contiguous arrays and numbers by reference.

    Every one made has fields of the same types and numbers of dimensions. Kernels may write to its
    arrays, and Python keeps it while they run.
    """
    named = {n: getattr(plain, n) for n in ('__doc__', '__module__', '__qualname__')}
    # Numba tells types apart by the name of a class, the first of its `_fields` and the type of
    # what it holds first; it reads them in every call
    where = hashlib.sha256(f'{plain.__module__}.{plain.__qualname__}'.encode()).hexdigest()
    contents = {**named, '_plain': plain, '_fields': (where[:8],)}
    return cast(type[Named], type(plain.__name__, (_Reference,), contents))


class _Reference(tuple[int]):
    """A named tuple that to Numba holds one number: the address of words that describe it."""

    _plain: Any  # the class of the named tuple
    _kind: ReferenceType | None = None  # of the first one made
    _words: np.ndarray

    def __new__(cls, *values: Any, **named: Any) -> _Reference:
        given = cls._plain(*values, **named)._asdict()
        if cls._kind is None:
            cls._kind = ReferenceType(cls, {name: _kind_of(v) for name, v in given.items()})
        return cls._of(np.zeros(cls._kind.size, np.int64), given, given)

    @classmethod
    def _of(cls, words: np.ndarray, given: dict[str, Any], changed: dict[str, Any]) -> _Reference:
        kind = cast(ReferenceType, cls._kind)
        for name, value in changed.items():
            words[kind.place(name, _kind_of(value))] = _described(value)
        made = super().__new__(cls, (words.ctypes.data,))
        vars(made).update(given, _words=words)
        return made

    def __iter__(self) -> Iterator[Any]:
        return iter(self._asdict().values())

    def __reduce__(self) -> Any:
        return type(self), tuple(self)

    def _asdict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._plain._fields}

    def _replace(self, **changed: Any) -> _Reference:
        return self._of(self._words.copy(), {**self._asdict(), **changed}, changed)


class ReferenceType(types.Type):
    """What Numba knows a named tuple by reference as: types of its fields, and their words."""

    def __init__(self, of: type, kinds: dict[str, Any]) -> None:
        self.fields: dict[str, tuple[Any, slice]] = {}
        self.size = 0
        for name, kind in kinds.items():
            start, self.size = self.size, self.size + _size(kind)
            self.fields[name] = kind, slice(start, self.size)
        fields = hashlib.sha256(str(kinds).encode()).hexdigest()[:16]
        super().__init__(f'{of.__module__}.{of.__qualname__}_{fields}')

    def place(self, name: str, kind: Any) -> slice:
        """Return where the words of a field are; TypeError where there is none of the type."""
        known, place = self.fields.get(name, (None, slice(0)))
        if known != kind:
            raise TypeError(f'{self.name}: {name} is {kind} instead of {known}')
        return place


def _kind_of(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        if not value.flags.c_contiguous:
            raise TypeError('an array in a named tuple by reference has to be C-contiguous')
        return _array(value.dtype, value.ndim)
    if isinstance(value, _Reference):
        return value._kind
    if isinstance(value, tuple):
        return BaseTuple.from_types(map(_kind_of, value), type(value))
    if type(value) not in _NUMBERS:
        raise TypeError(f'no {type(value).__name__} fits into a named tuple by reference')
    return _NUMBERS[type(value)]


@functools.cache
def _array(dtype: np.dtype, dimensions: int) -> Any:
    return types.Array(from_dtype(dtype), dimensions, 'C')


def _size(kind: Any) -> int:
    """Return how many words describe a field."""
    if isinstance(kind, types.Array):
        return 1 + 2 * int(kind.ndim)
    return sum(map(_size, kind.types)) if isinstance(kind, BaseTuple) else 1


def _described(value: Any) -> tuple[int, ...]:
    """Return the words that describe a field: address, shape and strides of an array."""
    if isinstance(value, np.ndarray):
        return (value.ctypes.data, *value.shape, *value.strides)
    if isinstance(value, _Reference):
        return (tuple.__getitem__(value, 0),)
    if isinstance(value, tuple):
        return tuple(word for part in value for word in _described(part))
    return (int(np.float64(value).view(np.int64)) if isinstance(value, float) else int(value),)


register_model(ReferenceType)(models.OpaqueModel)


@typeof_impl.register(_Reference)
def _type_of(value: Any, _context: Any) -> Any:
    return value._kind


@unbox(ReferenceType)
def _address(kind: Any, value: Any, compiled: Any) -> Any:
    number = compiled.pyapi.long_as_longlong(compiled.pyapi.tuple_getitem(value, 0))
    return NativeValue(compiled.builder.inttoptr(number, compiled.context.get_value_type(kind)))


@infer_getattr
class _Fields(AttributeTemplate):
    key = ReferenceType

    def generic_resolve(self, kind: Any, name: str) -> Any:
        """Return the type of a field."""
        return kind.fields.get(name, (None,))[0]


@lower_getattr_generic(ReferenceType)
def _field(context: Any, builder: Any, kind: Any, address: Any, name: str) -> Any:
    found, place = kind.fields[name]
    return _read(context, builder, found, _words(builder, address, place.start))


def _words(builder: Any, address: Any, at: int) -> Iterator[Any]:
    """Read word after word; what never changes is read once, whatever is written meanwhile."""
    first = builder.bitcast(address, cgutils.intp_t.as_pointer())
    while True:
        word = builder.load(builder.gep(first, [cgutils.int32_t(at)]))
        word.set_metadata('invariant.load', builder.module.add_metadata([]))
        yield word
        at += 1


def _read(context: Any, builder: Any, kind: Any, words: Iterator[Any]) -> Any:
    """Return a field out of the words that describe it."""
    if isinstance(kind, BaseTuple):
        parts = [_read(context, builder, k, words) for k in kind.types]
        return context.make_tuple(builder, kind, parts)
    word = next(words)
    if isinstance(kind, types.Array):
        array = make_array(kind)(context, builder)
        data = builder.inttoptr(word, array.data.type)
        shape, strides = ([next(words) for _ in range(kind.ndim)] for _ in range(2))
        size = context.get_constant(types.intp, context.get_abi_sizeof(data.type.pointee))
        populate_array(array, data, shape, strides, size, None)
        return array._getvalue()
    if isinstance(kind, ReferenceType):
        return builder.inttoptr(word, context.get_value_type(kind))
    if kind == types.float64:
        return builder.bitcast(word, context.get_value_type(kind))
    return cgutils.as_bool_bit(builder, word) if kind == types.boolean else word
