# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What every soro node shares: parameter table, message conversions, main, lifecycle base."""

import os

# Nodes compile while they are configured (warm_up), and no loop of theirs is ever interpreted.
os.environ['SORO_KERNELS'] = 'compiled'
