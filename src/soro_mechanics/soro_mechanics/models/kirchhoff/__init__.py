# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A backbone and its muscles by minimum energy (Chen 2022)."""
