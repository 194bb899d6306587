# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Emulated devices without a network, and what follows from them."""
