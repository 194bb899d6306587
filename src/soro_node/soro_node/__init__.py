# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What every soro node shares: parameter table, message conversions, main, lifecycle base."""
