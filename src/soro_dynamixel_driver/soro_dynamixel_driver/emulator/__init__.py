# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Dynamixel X servos, emulated on their wire."""
