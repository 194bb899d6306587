# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The robot file: quantities, strict sections, the catalogue, the registry of models."""
