# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The executables `driver`, `check_launch` and those of one device: they end while they import."""

from pathlib import Path
import sys

from soro_node.process.early_start import import_and_run


def main() -> None:
    """Run the node."""
    import_and_run('soro_driver.node')


def one_device() -> None:
    """Run the node for the device that the executable is named after, `can_driver` for can."""
    import_and_run('soro_driver.node', device=Path(sys.argv[0]).stem.removesuffix('_driver'))


def check_launch() -> None:
    """Check the arguments of a launch."""
    import_and_run('soro_driver.launch_check')
