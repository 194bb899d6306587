# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The haptic device with another number of legs, motors and strips."""

from __future__ import annotations

from pathlib import Path

import yaml

from soro_mechanics.robot_file.catalogue import find_robot_file


def legs_file(folder: Path, legs: int) -> Path:
    """Write the first legs of the catalogue's device, or more of them 5 mm beside those."""
    text = yaml.safe_load(find_robot_file('haptic_5dof').read_text(encoding='utf-8'))
    rods, drives, strips = text['body']['rods'], text['drives'], text['sensors'][0]['strips']
    for number in range(7, legs + 1):
        like = yaml.safe_load(yaml.safe_dump(rods[number - 7]))
        for end, radius in (('from', '155 mm'), ('to', '15 mm')):
            like[end]['polar']['radius'] = radius
        rods.append({**like, 'name': f'leg_{number}'})
        act = [{'drives': 'angle', 'rods': [f'leg_{number}']}]
        drives.append({**drives[0], 'name': f'motor_{number}', 'acts': act})
        strips.append({**strips[0], 'name': f'flex_{number}', 'rod': f'leg_{number}'})
    for part in (rods, drives, strips):
        del part[legs:]
    text['name'] = f'legs_{legs}'
    text['driver']['can']['zero'] = ' '.join(['0'] * legs) + ' deg'
    file = folder / f'legs_{legs}.yaml'
    file.write_text(yaml.safe_dump(text, allow_unicode=True), encoding='utf-8')
    return file
