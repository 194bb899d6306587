# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Hardware interface for pressure regulators behind a dSPACE MicroLabBox (serial)."""
