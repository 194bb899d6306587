# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""How a node spins: its executor, what it takes from subscriptions, and when."""
