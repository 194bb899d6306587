# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What stands between a command and a body: valves, motors, muscles, and what they remember."""
