# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Reads what an emulated device did and when."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def read_events(path: str | Path, event: str = '') -> list[dict[str, Any]]:
    """Return the events of a log, all or those of one name, complete lines only."""
    text = Path(path).read_text(encoding='utf-8') if Path(path).exists() else ''
    lines = text.split('\n')[:-1]
    events = [json.loads(line) for line in lines]
    return [e for e in events if not event or e['event'] == event]
