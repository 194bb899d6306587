# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The control loop of a device: deadlines, set-points, what decides them."""
