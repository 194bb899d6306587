# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Published numbers beside ours: every robot gives rows, one report is written.

``python -m soro_studies.validation`` writes docs/evidence/validation.md. A robot joins by a
function that returns rows and one line in `registry.ROBOTS`.
"""

from soro_studies.validation.row import (
    boundary,
    Kind,
    number,
    Row,
    statement,
    Verdict,
    yardstick,
)

__all__ = ['Kind', 'Row', 'Verdict', 'boundary', 'number', 'statement', 'yardstick']
