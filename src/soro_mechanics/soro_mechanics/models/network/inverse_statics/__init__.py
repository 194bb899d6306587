# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Inverse statics of networks: in general, along a path, of platforms."""
