# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Simulated actuators, for robots that have no hardware (yet)."""
