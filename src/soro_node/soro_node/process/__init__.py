# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The process of a node: how it starts, compiles, is watched and ends."""
