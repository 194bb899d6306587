# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A tour of a robot: what `soro demo` does."""
