# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Tendons of a network: paths, layout, and solutions in which some are slack or held."""
