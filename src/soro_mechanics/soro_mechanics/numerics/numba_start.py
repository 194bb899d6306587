# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Import Numba without the part of SciPy that our kernels do not use.

The first kernel of a process makes Numba look for BLAS, which imports ``scipy.linalg`` and with it
half of SciPy and, by way of ``numpy.f2py``, a guesser of character sets: a fifth of the processor
time that a node needs until its kernels run. No kernel of ours calls BLAS. SciPy is installed with
this library, so the answer is known, and a kernel of somebody else that does call BLAS still
imports it when it is compiled.
"""

from __future__ import annotations

import sys

BLAS = 'scipy.linalg'


def load_numba() -> None:
    """Import what Numba imports for its first kernel; call before one runs."""
    if BLAS in sys.modules or 'numba.np.arraymath' in sys.modules:
        return
    sys.modules[BLAS] = None  # type: ignore[assignment]  # what the import system takes for absent
    try:
        from numba.np import arraymath
    finally:
        del sys.modules[BLAS]
    arraymath._HAVE_BLAS = True
