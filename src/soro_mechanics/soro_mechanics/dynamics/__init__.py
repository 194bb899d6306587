# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Networks in time: implicit integration on SE(3), energies, damped modes. See docs/models."""
