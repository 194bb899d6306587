# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The executables `driver` and `check_launch`: both end at once while they still import."""

from soro_node.early_start import import_and_run


def main() -> None:
    """Run the node."""
    import_and_run('soro_driver.node')


def check_launch() -> None:
    """Check the arguments of a launch."""
    import_and_run('soro_driver.launch_check')
