# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Test modules of this folder import each other."""

from pathlib import Path
import sys

sys.path.insert(0, str(Path(__file__).parent))
