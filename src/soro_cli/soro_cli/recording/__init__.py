# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Recordings of robots: MCAP files in bags that rosbag2 reads and plays."""
