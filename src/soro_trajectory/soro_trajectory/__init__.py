# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Feedforward trajectory planner node: the streamer of actuator commands."""
