# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The relay between the supply and the regulators: closed only while edges keep coming."""

from __future__ import annotations

from dataclasses import dataclass
import math

from soro_mechanics.robot_file.record import given


@dataclass(frozen=True)
class RelayProperties:
    """``relay``."""

    window: float = given('s', 0.2, positive=True)  #: it drops out when no edge came for this long
    #: it pulls in after this many edges, each within the window of the one before: one stray edge
    #: must not bring the pressure back
    edges: int = given(default=3, minimum=1)


class SafetyRelay:
    """A retriggerable relay, open at first."""

    def __init__(self, properties: RelayProperties) -> None:
        self._properties = properties
        self._last = -math.inf
        self._edges = 0

    def edge(self, now: float) -> None:
        """Note an edge of the heartbeat line at `now` [s]."""
        fresh = now - self._last <= self._properties.window
        self._edges = self._edges + 1 if fresh else 1
        self._last = now

    @property
    def drops_at(self) -> float:
        """When it drops out unless another edge comes [s]; -inf while it is open."""
        enough = self._edges >= self._properties.edges
        return self._last + self._properties.window if enough else -math.inf

    def closed(self, now: float) -> bool:
        """Whether the supply is connected at `now` [s]."""
        return now <= self.drops_at
