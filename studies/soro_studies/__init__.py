# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Studies: what the numbers of the pages are computed with. Not installed."""
