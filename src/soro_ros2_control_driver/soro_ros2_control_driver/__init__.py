# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Drives any ros2_control hardware through the topics of its controllers."""
