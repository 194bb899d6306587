# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Hardware interface for NI-DAQ devices (nidaqmx, local or gRPC)."""
