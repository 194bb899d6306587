# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Kinematics solver node: forward, inverse, Jacobian, configuration, TF."""
