# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Studies of a haptic device: ``python -m soro_haptics.studies`` writes pages of docs/robots."""
