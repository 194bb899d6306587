# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Robot files fitted to recordings."""
