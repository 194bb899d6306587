# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Schema 2 of the robot file: one body, and models that take from it."""
