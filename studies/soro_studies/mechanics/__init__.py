# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Comparisons of models with each other, with papers and with random problems."""
