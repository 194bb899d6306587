# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""``python -m soro_studies.validation [robot ...]``: write docs/evidence/validation.md."""

from __future__ import annotations

import argparse
from pathlib import Path
import sys

from soro_mechanics.core.errors import SoroError
from soro_studies.validation.provenance import workspace
from soro_studies.validation.registry import ROBOTS, SECTIONS
from soro_studies.validation.report import COMMAND, write_report


def default_target() -> Path:
    """Return docs/evidence/validation.md of the source checkout, else of the present folder."""
    return (workspace() or Path()) / 'docs' / 'evidence' / 'validation.md'


def main() -> int:
    """Write the report; naming robots prints only their tables."""
    parser = argparse.ArgumentParser(description='Published numbers beside ours.')
    parser.add_argument('robots', nargs='*', metavar='robot', help=f'of {", ".join(ROBOTS)}')
    parser.add_argument('--output', type=Path, default=default_target())
    options = parser.parse_args()
    try:
        if options.robots:
            print(write_report(options.robots, ' '.join([COMMAND, *options.robots])))
            return 0
        report = write_report(tuple(ROBOTS), sections=SECTIONS)
    except SoroError as error:
        print(error, file=sys.stderr)
        return 2
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(report, encoding='utf-8')
    print(f'wrote {options.output}')
    return 0


if __name__ == '__main__':
    raise SystemExit(main())
