# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""``python -m soro_studies.haptics <study>``: measure or compute, draw, write the page."""

from __future__ import annotations

import argparse
from pathlib import Path

from soro_mechanics.compilation.kernel_cache import use_kernel_cache


def main(words: list[str] | None = None) -> int:
    """Run one study."""
    parser = argparse.ArgumentParser(prog='python -m soro_studies.haptics', description=__doc__)
    parser.add_argument(
        'study',
        choices=(
            'rendering',
            'z_width',
            'dynamic',
            'held',
            'drift',
            'force',
            'free',
            'workspace',
            'loop',
            'live',
            'bare',
        ),
    )
    parser.add_argument('--robot', default='haptic_5dof')
    parser.add_argument('--docs', type=Path, default=Path('docs'), help='folder of the pages')
    parser.add_argument('--spacing', type=float, default=0.005, help='workspace: of the grid [m]')
    parser.add_argument(
        '--go-on', action='store_true', help='where a study can: keep what is measured'
    )
    loop = parser.add_argument_group('loop', 'what goes over the wire in real time')
    loop.add_argument('--minutes', type=float, default=1.0, help='length of each run')
    loop.add_argument('--priority', type=int, default=0, help='SCHED_FIFO priority')
    loop.add_argument(
        '--runs',
        nargs='*',
        default=['can', 'fd', 'topics'],
        choices=('can', 'fd', 'topics'),
        help='which runs, in this order; none: only write the page from what was measured before',
    )
    arguments = parser.parse_args(words)
    use_kernel_cache()
    pages, pictures = arguments.docs / 'evidence', arguments.docs / 'img'
    if arguments.study == 'loop':
        from soro_studies.haptics.loop_page import measure_runs, write_loop_page

        page = pages / f'{arguments.robot}_loop.md'
        seconds = 60.0 * arguments.minutes
        measure_runs(arguments.robot, page, arguments.runs, seconds, arguments.priority)
        write_loop_page(arguments.robot, page)
        print(page)
        return 0
    if arguments.study == 'live':
        from soro_studies.haptics.live import measure_live, write_live_page

        page = pages / f'{arguments.robot}_live.md'
        measure_live(arguments.robot, page.with_suffix('.json'), arguments.priority)
        write_live_page(arguments.robot, page.with_suffix('.json'), page)
        print(page)
        return 0
    if arguments.study == 'bare':
        from soro_studies.haptics.bare_loop import keep_bare_loop
        from soro_studies.haptics.loop_page import write_loop_page

        page = pages / f'{arguments.robot}_loop.md'
        seconds = 60.0 * arguments.minutes
        store, anew = page.with_suffix('.json'), not arguments.go_on
        keep_bare_loop(arguments.robot, store, seconds, arguments.priority, anew)
        write_loop_page(arguments.robot, page)
        return 0
    from soro_mechanics.robot import load_robot

    robot = load_robot(arguments.robot)
    page = pages / f'{robot.name}_{arguments.study}.md'
    picture = pictures / f'{robot.name}_{arguments.study}.png'
    if arguments.study == 'held':
        from soro_studies.haptics.held_page import measure_held, write_held_page

        store = page.with_suffix('.json')
        measure_held(robot, store, not arguments.go_on)
        write_held_page(robot.name, store, page)
    elif arguments.study == 'dynamic':
        from soro_studies.haptics.dynamic import measure_dynamic, write_dynamic_page

        store = page.with_suffix('.json')
        measure_dynamic(robot, store, not arguments.go_on)
        write_dynamic_page(robot.name, store, page)
    elif arguments.study == 'drift':
        from soro_studies.haptics.drift import measure_drifts, write_drift_page

        store = page.with_suffix('.json')
        measure_drifts(robot, store, not arguments.go_on)
        write_drift_page(robot.name, store, page)
    elif arguments.study == 'force':
        from soro_studies.haptics import force_study

        store = page.with_suffix('.json')
        force_study.measure_forces(robot, store)
        force_study.write_force_page(store, page)
    elif arguments.study == 'free':
        from soro_studies.haptics import free_limits, free_space

        store, limits = (page.with_name(f'{page.stem}{end}.json') for end in ('', '_limits'))
        if not (arguments.go_on and store.is_file()):
            free_space.measure_free_space(robot, store)
        free_limits.measure_limits(robot, limits)
        free_space.write_free_page(robot.name, store, limits, page)
    elif arguments.study == 'rendering':
        from soro_studies.haptics.rendering_page import write_rendering_page

        write_rendering_page(robot, page, picture)
    elif arguments.study == 'z_width':
        from soro_studies.haptics.z_width_page import write_z_width_page

        write_z_width_page(robot, page.with_suffix('.json'), page, picture, not arguments.go_on)
    else:
        from soro_studies.haptics.workspace_page import write_workspace_page

        write_workspace_page(robot, page, picture, arguments.spacing)
    print(page)
    return 0


if __name__ == '__main__':
    raise SystemExit(main())
