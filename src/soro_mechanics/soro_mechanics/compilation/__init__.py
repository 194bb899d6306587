# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""How kernels are compiled: decorators, cache, first calls, start of Numba."""
