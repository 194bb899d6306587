# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The NI cards and their gRPC server, emulated for the emulator node of soro_emulation."""
