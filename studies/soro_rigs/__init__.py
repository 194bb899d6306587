# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What tests and benchmarks of several packages stand on; not installed, no test itself."""
