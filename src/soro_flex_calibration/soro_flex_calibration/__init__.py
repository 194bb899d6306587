# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Calibration of flex sensors: move the motors, record, fit, keep."""
