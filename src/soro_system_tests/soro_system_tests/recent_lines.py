# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What the nodes of a robot said lately, out of everything that its launch has printed."""

from __future__ import annotations

import re

# [driver] [WARN] [1795574015.657987999] [stiff_flop.driver]: text, as the launch runners print it
STAMPED = re.compile(r'^\[[^]]*\] \[\w+\] \[(\d+\.\d+)\] \[(?:[^]]*\.)?([^].]+)\]: (.*)$', re.M)
MOST_LINES = 8
MOST_LETTERS = 160


def lines_since(output: str, since: float, until: float) -> list[str]:
    """Return what the nodes logged since a time, the last `MOST_LINES` of it.

    Parameters
    ----------
    output : str
        What was printed. Lines without a time of their own are left out.
    since, until : float
        Wall time [s]; lines tell how long before `until` they were said.

    Returns
    -------
    list of str
        ``-1.234 s driver: text``, in the order printed.
    """
    found = [(float(stamp), node, text) for stamp, node, text in STAMPED.findall(output)]
    return [
        f'{stamp - until:.3f} s {node}: {text}'[:MOST_LETTERS]
        for stamp, node, text in found if stamp >= since
    ][-MOST_LINES:]  # fmt: skip
