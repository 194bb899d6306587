# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Make the scripts importable, as they are when they are called."""

from pathlib import Path
import sys

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
