# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Published numbers beside ours: every robot gives rows, one report is written.

``python -m soro_studies.validation`` writes docs/evidence/validation.md, ``mutation_score`` finds
what each row can notice. A robot joins by a module with `GROUPS` of functions that return rows,
one entry in `registry.ROBOTS`, and its mutants in `mutant_list.MUTANTS`.
"""

from soro_studies.validation.row import boundary, Kind, number, Row, statement, Verdict, yardstick

__all__ = ['Kind', 'Row', 'Verdict', 'boundary', 'number', 'statement', 'yardstick']
