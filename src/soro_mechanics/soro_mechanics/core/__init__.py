# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What every part shares: configurations, statuses, errors, actuators, the interface of models."""
