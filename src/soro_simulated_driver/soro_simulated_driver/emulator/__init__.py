# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The simulated actuators, emulated for the emulator node of soro_emulation."""
