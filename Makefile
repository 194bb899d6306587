# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
.PHONY: setup
setup:  ## make or refresh the workspace
	@python3 scripts/setup_workspace.py
