# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The executable `trajectory_planner`: ends at once when it is told to while it still imports."""

from soro_node.process.early_start import import_and_run


def main() -> None:
    """Run the node."""
    import_and_run('soro_trajectory.node')
