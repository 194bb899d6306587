# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""One segment of constant curvature by serial analogy (Akbari 2021)."""
