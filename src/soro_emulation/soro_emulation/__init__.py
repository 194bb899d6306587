# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Plant models and device emulators that speak the real wire protocols."""
