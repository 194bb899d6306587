# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Fit a recording, judge the fit, merge it with what is calibrated already, keep it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from soro_mechanics.core.errors import InvalidInput, UnknownName
from soro_mechanics.haptics.flex_calibration import (
    calibrate,
    CalibrationReport,
    FlexCalibration,
    FlexRecording,
    read_calibration,
    save_calibration,
    UNKNOWN_MATERIAL,
)

TABLE, PICTURE = 'flex_calibration.txt', 'flex_calibration.png'


def fit_recording(
    robot: str,
    recording: FlexRecording,
    lever: float,
    sensors: Sequence[str],
    method: str,
    max_residual: float,
) -> CalibrationReport:
    """Fit some `sensors` of a recording, all of them where none is named.

    `lever`: of the strips from the neutral fibre [m]; `method`: 'exact' or 'published'; a fit with
    an RMS above `max_residual` [m] is refused, with 0 none.
    """
    unknown = [name for name in sensors if name not in recording.names]
    if unknown:
        raise UnknownName('sensor_name', unknown[0], recording.names)
    chosen = [i for i, n in enumerate(recording.names) if not sensors or n in sensors]
    part = FlexRecording(
        tuple(recording.names[i] for i in chosen),
        tuple(recording.rotations[i] for i in chosen),
        np.asarray(recording.counts)[:, chosen],
        tuple(recording.places[i] for i in chosen) if recording.places else (),
    )
    report = calibrate(robot, part, lever, method)
    if not max_residual > 0.0:
        return report
    fits = []
    for fit in report.fits:
        rms = residual_in_metres(fit, lever)
        if not rms <= max_residual:
            reason = f'{fit.name}: RMS {1e6 * rms:.0f} um, {1e6 * max_residual:.0f} um allowed'
            fit = replace(fit, reasons=(*fit.reasons, reason))
        fits.append(fit)
    return replace(report, fits=tuple(fits))


def metres_per_count(fit: object, lever: float) -> float:
    """Return the gain of a fit [m/count]; NaN where no node explains the sensor."""
    size = float(np.abs(fit.coefficients).sum())
    return lever * len(fit.nodes) / size if size > 0.0 else float('nan')


def residual_in_metres(fit: object, lever: float) -> float:
    """Return the RMS error on held-out data [m]."""
    return metres_per_count(fit, lever) * fit.rms


def keep_fit(
    report: CalibrationReport,
    path: Path,
    strips: Sequence[str],
    material: tuple[float, float] = (1.0, UNKNOWN_MATERIAL),
) -> FlexCalibration:
    """Save a calibration of all strips of the robot: the new fits, and old ones for the rest.

    `material` is the scale of the modulus that the model had, and its relative deviation.
    PoorFit: a fit is refused, and why; the file stays as it was. InvalidInput: some strips were
    never calibrated.
    """
    new = report.calibration()
    found = {s.name: s for s in new.sensors}
    if path.is_file() and not set(strips) <= set(found):
        old = {s.name: s for s in read_calibration(path, report.robot).sensors}
        found = {**{n: s for n, s in old.items() if n in strips}, **found}
    missing = [name for name in strips if name not in found]
    if missing:
        raise InvalidInput('sensor_name', list(found), f'{", ".join(missing)} too, once')
    sensors, (scale, deviation) = tuple(found[name] for name in strips), material
    whole = replace(new, sensors=sensors, material=scale, material_deviation=deviation)
    save_calibration(whole, path)
    return whole


def write_report(
    report: CalibrationReport, recording: FlexRecording, folder: Path, *notes: str
) -> None:
    """Write the table and a picture of counts against what the fit predicts, good or bad."""
    folder.mkdir(parents=True, exist_ok=True)
    text = '\n'.join(filter(None, (report.text(), *notes)))
    (folder / TABLE).write_text(text + '\n', encoding='utf-8')
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 5.5), layout='constrained')
    FigureCanvasAgg(figure)
    columns = min(3, len(report.fits))
    rows = -(-len(report.fits) // columns)
    for k, fit in enumerate(report.fits):
        i = recording.names.index(fit.name)
        measured = np.asarray(recording.counts)[:, i]
        axes = figure.add_subplot(rows, columns, k + 1)
        axes.plot(measured, fit.predict(recording.rotations[i]), '.', markersize=2)
        ends = [measured.min(), measured.max()]
        axes.plot(ends, ends, 'k-', linewidth=0.8)
        verdict = 'refused' if fit.reasons else f'error {fit.error_share:.1%} of range'
        axes.set_title(f'{fit.name}: {verdict}', fontsize=9)
        axes.set_xlabel('counts measured', fontsize=8)
        axes.set_ylabel('counts from the model', fontsize=8)
    figure.savefig(folder / PICTURE, dpi=120)
