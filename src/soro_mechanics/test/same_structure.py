# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""How two robot descriptions differ."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
import math
from typing import Any

import numpy as np

SAME = 1e-12
NOISE = 1e-15  # of the largest entry: cosines of right angles


def differences(old: Any, new: Any, path: str) -> list[tuple[str, Any, Any, float]]:
    """Return (path, old, new, relative size) of all that is not the same; inf: another kind."""
    if is_dataclass(old) and type(old) is type(new):
        pairs = [
            (f'{path}.{f.name}', getattr(old, f.name), getattr(new, f.name)) for f in fields(old)
        ]
    elif isinstance(old, dict) and isinstance(new, dict) and list(old) == list(new):
        pairs = [(f'{path}.{key}', old[key], new[key]) for key in old]
    elif isinstance(old, tuple | list) and isinstance(new, tuple | list) and len(old) == len(new):
        pairs = [(f'{path}[{i}]', a, b) for i, (a, b) in enumerate(zip(old, new, strict=True))]
    elif isinstance(old, float | np.ndarray) and isinstance(new, float | np.ndarray):
        if np.shape(old) != np.shape(new):
            return [(path, old, new, math.inf)]
        a, b = np.asarray(old), np.asarray(new)
        apart = np.abs(a - b)
        apart = np.where(apart <= NOISE * np.max(np.abs(a), initial=0.0), 0.0, apart)
        with np.errstate(divide='ignore', invalid='ignore'):
            size = float(np.max(np.where(apart == 0.0, 0.0, apart / np.abs(a)), initial=0.0))
        return [(path, old, new, size)] if not size <= SAME else []
    elif isinstance(old, np.ndarray) or isinstance(new, np.ndarray):
        return [(path, old, new, math.inf)]
    else:
        return [] if old == new else [(path, old, new, math.inf)]
    return [found for name, a, b in pairs for found in differences(a, b, name)]
