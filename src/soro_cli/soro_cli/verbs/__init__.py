# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""One module per verb, each with ``add_arguments(parser)`` and ``run(arguments)``."""
