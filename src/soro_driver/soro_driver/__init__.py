# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What every soro driver shares: limits, slew, watchdog, safe state, diagnostics, lifecycle."""
