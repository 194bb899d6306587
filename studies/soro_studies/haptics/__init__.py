# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What a haptic device can render: loops, walls, workspace, sensing."""
