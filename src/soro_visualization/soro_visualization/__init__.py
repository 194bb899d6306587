# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Markers, transforms, interactive target and browser viewer of a robot."""
