# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Records runs of robots into bags, reads them and draws them."""
