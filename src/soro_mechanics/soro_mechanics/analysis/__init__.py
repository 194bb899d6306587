# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What is done with a model: stiffness, workspace, polytopes, trajectories."""
