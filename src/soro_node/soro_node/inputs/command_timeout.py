# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""How long a commanding source may be silent where the robot file does not say it.

The driver counts by it, and whoever takes a robot over pauses by it.
"""

COMMAND_TIMEOUT = 0.2  # s, a section `driver` without the key
SIMULATED_COMMAND_TIMEOUT = 0.5  # s, a robot without that section
