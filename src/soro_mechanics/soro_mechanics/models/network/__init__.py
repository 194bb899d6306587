# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Beam networks: geometrically exact rods in any arrangement between rigid bodies."""
