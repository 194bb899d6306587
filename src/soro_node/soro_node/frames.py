# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Names of the frames of one robot: TF is global, so every name carries a prefix."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from soro_mechanics.core.errors import UnknownName
from soro_mechanics.core.status import Code

FROM_NAMESPACE = '<namespace>/'


@dataclass(frozen=True)
class Frames:
    """Frame names of one robot; `prefix` ends with a slash or is empty."""

    prefix: str = ''

    @property
    def base_link(self) -> str:
        """Base of the robot; every pose in a message is given in it."""
        return self.prefix + 'base_link'

    @property
    def tip(self) -> str:
        """Material frame of the tip."""
        return self.prefix + 'tip'

    @property
    def tip_aligned(self) -> str:
        """Origin at the tip, axes of base_link: wrenches and compliances."""
        return self.prefix + 'tip_aligned'

    def body(self, name: str) -> str:
        """Frame of a rigid body."""
        return self.prefix + name

    def check(self, field: str, frame_id: str, allowed: Iterable[str]) -> None:
        """Raise UnknownName (UNKNOWN_FRAME) unless the frame is one of those allowed."""
        names = tuple(allowed)
        if frame_id not in names:
            raise UnknownName(field, frame_id, names, Code.UNKNOWN_FRAME)


def frames_for(namespace: str, frame_prefix: str = FROM_NAMESPACE) -> Frames:
    """Return the frames of a node; `<namespace>` in the prefix stands for its namespace.

    In the root namespace the default prefix is empty.
    """
    space = namespace.strip('/')
    if frame_prefix == FROM_NAMESPACE and not space:
        return Frames('')
    return Frames(frame_prefix.replace('<namespace>', space))
