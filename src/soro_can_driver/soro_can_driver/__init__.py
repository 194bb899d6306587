# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Hardware interface for a CAN motor board with flex sensors (python-can)."""
