# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Hardware interface for pneumatic muscles behind an STM32 (serial, Bluetooth)."""
