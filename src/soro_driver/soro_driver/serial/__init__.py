# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Serial devices: frames, a port that carries them, a session."""
