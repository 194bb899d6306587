# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""From a pose to an actuation: search within limits, from several starts."""
