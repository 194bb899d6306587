# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Runs the documented subset of launch XML where no ``ros2 launch`` is installed.

The subset, the traps that are copied on purpose and the ones that are refused are listed in
docs/launch.md. `evaluation` turns a file into a plan of processes, `supervision` runs the plan.
"""
