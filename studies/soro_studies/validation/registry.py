# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What has known numbers to meet: title and function, imported when used."""

# Key -> (heading, function() -> list of Row, text under the heading).
ROBOTS: dict[str, tuple[str, str, str]] = {
    'stiff_flop': (
        'STIFF-FLOP, one segment (Shi 2023)',
        'soro_studies.validation.stiff_flop:one_segment',
        'Model `ncm` unless a row says otherwise. Compliances are the published integral (4); '
        'stiffness along an axis is one over its diagonal element. The first rows '
        'were used for fitting ([identification](stiff_flop_identification.md)), then the '
        'robot file was frozen; those that only follow from them count as used for fitting too. '
        'What the paper prints both for 90 deg and for full pressure stands twice: here full '
        'pressure bends further.',
    ),
    'stiff_flop_two_segment': (
        'STIFF-FLOP, two segments (Shi 2023)',
        'soro_studies.validation.stiff_flop_two_segment:rows',
        'Same sections as the one-segment robot: nothing was fitted to these rows.',
    ),
    'soft_parallel': (
        'Soft parallel robot (Huang 2022)',
        'soro_studies.validation.soft_parallel:rows',
        'Model `ancf`. One number was fitted: the height of the three curves lambda(P), to the '
        'longest extent of the workspace. Platform radius, masses and mounting are assumed.',
    ),
    'spatial_cc': (
        'Constant-curvature arm (Akbari 2021)',
        'soro_studies.validation.spatial_cc:rows',
        'Rest length, actuator offset and the two numbers of the pressure map were fitted to the '
        'constant-curvature columns of Table 1.',
    ),
    'pam_continuum': (
        'Muscle-driven continuum robot (Chen 2022)',
        'soro_studies.validation.pam_continuum:rows',
        'Model `kirchhoff`. Nothing was fitted; moduli, muscle radius and the size of the curves '
        'are assumed.',
    ),
    'stewart_gough': (
        'Continuum Stewart-Gough robot (Shi 2023, Appendix E)',
        'soro_studies.validation.stewart_gough:rows',
        'Model `network`. Nothing in the robot file was fitted; one row chose its height, two '
        'their pose. Every compliance is the tangent with the lengths held; the paper applies '
        'its integral (4), which leaves out what the rods already carry.',
    ),
    'haptic_5dof': (
        'Haptic device (Koehler 2023)',
        'soro_studies.validation.haptic_5dof:rows',
        'Model `network`. Nothing was fitted; the rest shape of the legs is assumed, so orderings '
        'and errors count, not absolute forces.',
    ),
    'one_rod': (
        'One rod with known answers',
        'soro_studies.validation.one_rod:rows',
        'Models `ncm`, `network`, `kirchhoff` on the same clamped rod. "Paper" is the table of '
        'the elastica (elliptic integrals) or the closed form.',
    ),
}

# What stands below the rows: functions that return the lines of whole sections.
SECTIONS = ('soro_studies.validation.model_checks:markdown',)
