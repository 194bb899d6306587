# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Arrays that a kernel does not count: their owner keeps them while it runs.

Numba counts every array of a tuple up and down wherever the tuple is handed on, by a locked
instruction each: a fifth of a step's time.
"""

from numba.core import cgutils, types
from numba.extending import intrinsic, overload


def borrowed(value):
    """Return an array, or a tuple of such, that is not counted."""
    return value


@overload(borrowed)
def _borrowed(value):
    return lambda value: _borrow(value)


@intrinsic
def _borrow(_, kind):
    def build(context, builder, signature, values):
        return _without_owner(context, builder, kind, values[0])

    return kind(kind), build


def _without_owner(context, builder, kind, value):
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, value)
        array.meminfo = cgutils.get_null_value(array.meminfo.type)
        return array._getvalue()
    for i, part in enumerate(kind if isinstance(kind, types.BaseTuple) else ()):
        inner = _without_owner(context, builder, part, builder.extract_value(value, i))
        value = builder.insert_value(value, inner, i)
    return value
