# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What a robot file says of a network: rods, their sections, bodies, drives."""
