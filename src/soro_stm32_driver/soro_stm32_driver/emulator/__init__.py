# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The STM32 valve board and its muscles, emulated for the emulator node of soro_emulation."""
