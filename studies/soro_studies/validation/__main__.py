# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""``python -m soro_studies.validation [robot ...]``: compute rows and write the page.

What each row can notice is scored by ``python -m soro_studies.validation.mutation_score``.
"""

from __future__ import annotations

import argparse
import sys

from soro_mechanics.core.errors import SoroError
from soro_studies.validation.power import Power
from soro_studies.validation.registry import ROBOTS, rows_of
from soro_studies.validation.report import compute, robot_section, write_page
from soro_studies.validation.results import MUTANTS_FILE, read_results


def main() -> int:
    """Compute everything and write the page; naming robots prints only their tables."""
    parser = argparse.ArgumentParser(description='Published numbers beside ours.')
    parser.add_argument('robots', nargs='*', metavar='robot', help=f'of {", ".join(ROBOTS)}')
    parser.add_argument(
        '--page', action='store_true', help='compute nothing: the page from what is kept'
    )
    options = parser.parse_args()
    try:
        if options.robots:
            kept = read_results(MUTANTS_FILE)
            for robot in options.robots:
                print('\n'.join(robot_section(robot, rows_of(robot), Power.of(robot, kept))))
            return 0
        if not options.page:
            compute()
        print(f'wrote {write_page()}')
    except SoroError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == '__main__':
    raise SystemExit(main())
