# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What the nodes of a robot said lately, out of everything that its launch has printed."""

from __future__ import annotations

import re

# [driver] [WARN] [1795574015.657987999] [stiff_flop.driver]: text, as the launch runners print it
STAMPED = re.compile(r'^\[[^]]*\] \[\w+\] \[(\d+\.\d+)\] \[(?:[^]]*\.)?([^].]+)\]: (.*)$', re.M)
MAX_LINES = 8
MAX_LETTERS = 160


def lines_before(now: float, seconds: float, output: str) -> list[str]:
    """Return what the nodes logged in the last seconds, the last `MAX_LINES` of it.

    Parameters
    ----------
    now : float
        Wall time [s]; lines tell how long before it they were said.
    seconds : float
    output : str
        What was printed. Lines without a time of their own are left out.

    Returns
    -------
    list of str
        ``-1.234 s driver: text``, in the order printed.
    """
    found = [(float(stamp), node, text) for stamp, node, text in STAMPED.findall(output)]
    return [
        f'{stamp - now:.3f} s {node}: {text}'[:MAX_LETTERS]
        for stamp, node, text in found
        if stamp >= now - seconds
    ][-MAX_LINES:]
