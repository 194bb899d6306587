# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Drives CANopen drives of the profile CiA 402."""
