# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The page of the browser viewer."""
