# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The refusal of what the present state does not allow."""

from __future__ import annotations

from soro_mechanics.core.errors import SoroError
from soro_mechanics.core.status import Code


class NotAllowed(SoroError):
    """The state does not allow what was asked; the message says what to do first."""

    code = Code.NOT_ACTIVE
