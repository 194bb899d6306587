# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The controllers of a ros2_control hardware, emulated."""
