#!/bin/bash
# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
#
# Run a command with ROS and the workspace in its environment.
source "/opt/ros/${ROS_DISTRO:-jazzy}/setup.bash"
source /workspace/scripts/env.sh
exec "$@"
