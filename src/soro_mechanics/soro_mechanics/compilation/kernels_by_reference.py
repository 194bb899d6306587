# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Named tuples of arrays that kernels get as one address.

To Numba a named tuple is the sum of its parts: of every array it takes address, shape and strides
from Python in every call, 0.16 us each, and hands them on to every kernel that is called in turn,
6 kB on the stack for the arrays of a network. That was half of the code of its large kernels.
"""

from __future__ import annotations

import array
from collections.abc import Iterator
import ctypes
import functools
import hashlib
from typing import Any, cast, TypeVar

import numpy as np

from soro_mechanics.compilation.numba_start import import_numba

import_numba()

from numba.core import cgutils, types  # noqa: E402
from numba.core.datamodel import models  # noqa: E402
from numba.core.imputils import lower_getattr_generic  # noqa: E402
from numba.core.typing.templates import AttributeTemplate, infer_getattr  # noqa: E402
from numba.extending import NativeValue, register_model, typeof_impl, unbox  # noqa: E402
from numba.np.arrayobj import make_array, populate_array  # noqa: E402
from numba.np.numpy_support import from_dtype  # noqa: E402

Named = TypeVar('Named')
_FIRST: Any = ctypes.c_char.from_buffer
_NUMBERS = {bool: types.boolean, int: types.int64, float: types.float64}


def by_reference(plain: type[Named]) -> type[Named]:
    """Let kernels get a named tuple of arrays, numbers and such tuples by reference.

    Every one made has fields of the same types, dimensions and layout. Kernels may write to its
    arrays, and return none of them; Python keeps it while they run.
    """
    named = {n: getattr(plain, n) for n in ('__doc__', '__module__', '__qualname__')}
    # Numba tells types apart by the name of a class, the first of its `_fields` and the type of
    # what it holds first; it reads them in every call
    where = hashlib.sha256(f'{plain.__module__}.{plain.__qualname__}'.encode()).hexdigest()
    contents = {**named, '_plain': plain, '_fields': (where[:8],)}
    return cast(type[Named], type(plain.__name__, (_Reference,), contents))


def copied(named: Named, *names: str) -> Named:
    """Return the same with own copies of some C-contiguous arrays: all of it has to be one kind.

    A third of the time of `_replace`, which looks at what it gets.
    """
    return named._copied(names)  # type: ignore[attr-defined]


class _Reference(tuple[int]):
    """A named tuple that to Numba holds one number: the address of words that describe it."""

    _plain: Any  # the class of the named tuple
    _kind: ReferenceType | None = None  # of the first one made
    _words: array.array[int]

    def __new__(cls, *values: Any, **named: Any) -> _Reference:
        plain = cls._plain(*values, **named)
        given = plain._asdict()
        if cls._kind is None:
            cls._kind = ReferenceType(cls, {name: _kind_of(v) for name, v in given.items()})
        words = array.array('q')
        for name, value in given.items():
            cls._kind.place(name, value)
            words.extend(_described(value))
        return cls._of(words, given)

    @classmethod
    def _of(cls, words: array.array[int], given: dict[str, Any]) -> _Reference:
        made = tuple.__new__(cls, (words.buffer_info()[0],))
        given['_words'] = words
        object.__setattr__(made, '__dict__', given)
        return made

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f'{type(self).__name__}.{name} is read only, as of any named tuple')

    def __len__(self) -> int:
        return len(self._plain._fields)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._asdict().values())

    def __getitem__(self, place: Any) -> Any:
        return tuple(self)[place]

    __eq__, __hash__ = object.__eq__, object.__hash__

    def __reduce__(self) -> Any:
        return type(self), tuple(self)

    def _asdict(self) -> dict[str, Any]:
        values = vars(self)
        return {name: values[name] for name in self._plain._fields}

    def _replace(self, **changed: Any) -> _Reference:
        kind, words, given = cast(ReferenceType, self._kind), self._words[:], self._asdict()
        for name, value in changed.items():
            if value is not given.get(name):
                words[kind.place(name, value)] = array.array('q', _described(value))
        return self._of(words, {**given, **changed})

    def _copied(self, names: tuple[str, ...]) -> _Reference:
        starts, words = self._kind.starts, self._words[:]  # type: ignore[union-attr]
        given = self.__dict__.copy()
        for name in names:
            made = given[name] = given[name].copy()
            words[starts[name]] = ctypes.addressof(_FIRST(made)) if made.size else made.ctypes.data
        return self._of(words, given)


class ReferenceType(types.Type):
    """What Numba knows a named tuple by reference as: types of its fields, and their words."""

    def __init__(self, of: type, kinds: dict[str, Any]) -> None:
        self.fields: dict[str, tuple[Any, slice]] = {}
        self.starts: dict[str, int] = {}  # of the words of C-contiguous arrays
        size = 0
        for name, kind in kinds.items():
            words = 1 + 2 * int(kind.ndim) if isinstance(kind, types.Array) else 1
            self.fields[name] = kind, slice(size, size + words)
            if isinstance(kind, types.Array) and kind.layout == 'C':
                self.starts[name] = size
            size += words
        fields = hashlib.sha256(str(kinds).encode()).hexdigest()[:16]
        super().__init__(f'{of.__module__}.{of.__qualname__}_{fields}')

    def place(self, name: str, value: Any) -> slice:
        """Return where the words of a field are; TypeError where it is of another type."""
        known, place = self.fields.get(name, (None, slice(0)))
        kind = _kind_of(value)
        if kind is not known and kind != known:
            raise TypeError(f'{self.name}: {name} is {kind} instead of {known}')
        return place


def _kind_of(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return _array(value.dtype, value.ndim, 'C' if value.flags.c_contiguous else 'A')
    if isinstance(value, _Reference):
        return value._kind
    if type(value) not in _NUMBERS:
        raise TypeError(f'no {type(value).__name__} fits into a named tuple by reference')
    return _NUMBERS[type(value)]


@functools.cache
def _array(dtype: np.dtype, dimensions: int, layout: Any) -> Any:
    return types.Array(from_dtype(dtype), dimensions, layout)


def _described(value: Any) -> tuple[int, ...]:
    """Return the words that describe a field: address, shape and strides of an array."""
    if isinstance(value, np.ndarray):
        writable = value.size and value.flags.writeable
        # a fourth of the time of the other
        at = ctypes.addressof(_FIRST(value)) if writable else value.ctypes.data
        return (at, *value.shape, *value.strides)
    if isinstance(value, _Reference):
        return (tuple.__getitem__(value, 0),)
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


def _words(builder: Any, address: Any, at: int) -> Iterator[Any]:
    """Read word after word; what never changes is read once, whatever is written meanwhile."""
    first = builder.bitcast(address, cgutils.intp_t.as_pointer())
    while True:
        word = builder.load(builder.gep(first, [cgutils.int32_t(at)]))
        word.set_metadata('invariant.load', builder.module.add_metadata([]))
        yield word
        at += 1


@lower_getattr_generic(ReferenceType)
def _field(context: Any, builder: Any, of: Any, address: Any, name: str) -> Any:
    kind, place = of.fields[name]
    words = _words(builder, address, place.start)
    word = next(words)
    if isinstance(kind, types.Array):
        made = make_array(kind)(context, builder)
        data = builder.inttoptr(word, made.data.type)
        shape, strides = ([next(words) for _ in range(kind.ndim)] for _ in range(2))
        size = context.get_constant(types.intp, context.get_abi_sizeof(data.type.pointee))
        populate_array(made, data, shape, strides, size, None)
        return made._getvalue()
    if isinstance(kind, ReferenceType):
        return builder.inttoptr(word, context.get_value_type(kind))
    if kind == types.float64:
        return builder.bitcast(word, context.get_value_type(kind))
    return cgutils.as_bool_bit(builder, word) if kind == types.boolean else word
