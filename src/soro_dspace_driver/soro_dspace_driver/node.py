# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The executable `dspace_driver`: the driver node, for robots whose device is dspace."""

from soro_driver.node import run


def main() -> None:
    """Run the node."""
    raise SystemExit(run(device='dspace'))
