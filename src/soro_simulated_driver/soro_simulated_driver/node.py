# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The executable `simulated_driver`: the driver node, for robots whose device is simulated."""

from soro_node.early_start import import_and_run


def main() -> None:
    """Run the node."""
    import_and_run('soro_driver.node', device='simulated')
