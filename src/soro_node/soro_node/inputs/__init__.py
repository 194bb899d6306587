# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What nodes take from the robot and from outside: measurements, wrenches, stops."""
