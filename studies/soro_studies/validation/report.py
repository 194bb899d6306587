# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Compute what the validation page shows, keep it as JSON, and write the page from that alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
import datetime
from pathlib import Path
from typing import Any

from soro_studies.validation import model_checks
from soro_studies.validation.power import blind_spots, by_power, counted, PAPER, Power, shown_kind
from soro_studies.validation.provenance import digests, robot_digests
from soro_studies.validation.registry import ROBOTS, rows_of
from soro_studies.validation.results import (
    CHECKS_FILE,
    folder,
    MUTANTS_FILE,
    read_results,
    row_data,
    row_from,
    ROWS_FILE,
    write_results,
)
from soro_studies.validation.row import Kind, Row, Verdict
from soro_studies.validation.stored import PAGES

COMMAND = 'python -m soro_studies.validation'
HEAD = """\
Rows "used for fitting" fixed parameters, or follow from what did, and prove little; "predicted"
rows were computed after the robot file was frozen. "Posture chosen": the paper does not say which
posture it means, or names two that differ here, and this is the one that fits. "Assumption": the
row follows from what was assumed where the paper prints nothing. An "own check" holds a
computation against itself, a closed form or other code: it finds mistakes of ours and says
nothing about the robot of the paper. "Yardstick": what cannot be judged, as it rests on data the
paper does not print, and what catches nothing. *Met within* is our choice where the paper prints
no uncertainty; it was frozen (`tolerances.json` of the study) before anything was scored. A row is
*near* within twice that, or within a tenth of the bound it leaves. What is not met is explained,
as far as we know why, never tuned away.

*Catches*: of the robot's mutants, files that are wrong on purpose (`mutant_list.py` of the study),
how many turn the row from met or near to not met (`python -m
soro_studies.validation.mutation_score`). A mutant that leaves nothing to compute counts for no
row. A row that has never failed and catches nothing could not have failed, and does not count.
"""


def compute() -> None:
    """Compute all rows and checks, and keep them."""
    write_results(
        ROWS_FILE,
        {
            'date': datetime.date.today().isoformat(),
            'command': COMMAND,
            'computed_with': digests(PAGES),
            'rows': {robot: list(map(row_data, rows_of(robot))) for robot in ROBOTS},
        },
    )
    write_results(CHECKS_FILE, model_checks.results())


def write_page(target: Path | None = None) -> Path:
    """Write the page from what is kept; by default docs/evidence/validation.md."""
    file = target or folder().parent / 'validation.md'
    text = page(read_results(ROWS_FILE), read_results(MUTANTS_FILE), read_results(CHECKS_FILE))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding='utf-8')
    return file


def page(kept: dict[str, Any], scores: dict[str, Any], checks: dict[str, Any]) -> str:
    """Return the page that shows results."""
    rows = {robot: list(map(row_from, data)) for robot, data in kept['rows'].items()}
    powers = {robot: Power.of(robot, scores) for robot in rows}
    lines = [
        '# Published numbers and ours',
        '',
        f'Generated on {kept["date"]} by `{kept["command"]}` (`make validate`) from the JSON in '
        '`docs/evidence/validation`. Do not edit.',
        '',
        HEAD,
        *_headline(rows, powers),
        *_computed_with(kept['computed_with']),
    ]
    for robot, own in rows.items():
        lines += robot_section(robot, own, powers[robot])
    return '\n'.join([*lines, *model_checks.markdown(checks)]).rstrip() + '\n'


def robot_section(robot: str, rows: Sequence[Row], power: Power) -> list[str]:
    """Return the section of one robot: its rows, then its mutants."""
    known = ROBOTS[robot]
    lines = [f'## {known.title}', '', known.text, '', summary(rows, power), '']
    if power.mutants:
        lines += [*(f'- {line}' for line in blind_spots(rows, power)), '']
    return [*lines, *table(rows, power), '', *_mutants(rows, power)]


def summary(rows: Sequence[Row], power: Power) -> str:
    """Count the verdicts in one sentence, and in another those that say something of the paper."""
    counts = Counter(r.verdict for r in rows)
    parts = [f'{counts[v]} {v.value}' for v in Verdict if counts[v]]
    predicted = sum(r.kind is Kind.PREDICTED for r in rows)
    text = f'{len(rows)} rows: {", ".join(parts)}. Predicted: {predicted or "none"}'
    if not power.mutants or not predicted:
        return f'{text}.' if power.mutants else f'{text}; nothing was scored.'
    decisive = counted(rows, power)
    met, near, missed = (
        sum(r.verdict is v for r in decisive) for v in (Verdict.MET, Verdict.NEAR, Verdict.NOT_MET)
    )
    numbers = [r for r in decisive if r.printed]
    printed = sum(r.verdict is Verdict.MET for r in numbers)
    return (
        f'{text}, of which **{len(decisive)} can fail: {met} met, {near} near, {missed} not '
        f'met**. With a number or bound that the paper prints: {len(numbers)}, of them {printed} '
        'met.'
    )


def table(rows: Sequence[Row], power: Power) -> list[str]:
    """Return the lines of the table of rows, what catches most first."""
    count = len(power.mutants)
    lines = [
        '| Quantity | Paper | Ours | Difference | Met within | Verdict | Catches | Kind | Note |',
        '|---|---|---|---|---|---|---|---|---|',
    ]
    for r in by_power(rows, power):
        judged = count and r.verdict is not Verdict.NOT_COMPARABLE
        catches = f'{len(power.caught(r.quantity))} of {count}' if judged else ''
        lines.append(
            f'| {r.quantity} | {r.paper} | {r.ours} | {r.difference} | {r.within} '
            f'| {r.verdict.value} | {catches} | {shown_kind(r, power)} | {r.note} |'
        )
    return lines


def _mutants(rows: Sequence[Row], power: Power) -> Iterator[str]:
    """Yield what became of the rows under every mutant."""
    if not power.mutants:
        return
    predicted = [r for r in rows if r.kind is Kind.PREDICTED and r.quantity in power.verdicts]
    before = power.met_under({'became': {}}, predicted)
    now = robot_digests().get(power.robot, power.robot_file)
    older = '' if power.robot_file == now else ' with an older robot file'
    yield (
        f'Mutants of this robot, scored on {power.date}{older}. *Met*: of {len(predicted)} '
        f'predicted rows, {before} of the robot itself; where a mutant meets more, the paper '
        'prefers it.'
    )
    yield ''
    yield '| Mutant | Caught by | of them against the paper | Met | Not computed |'
    yield '|---|---|---|---|---|'
    for mutant in power.mutants:
        catchers = power.catchers(mutant, rows)
        paper = sum(r.kind in PAPER for r in catchers)
        met = power.met_under(mutant, predicted)
        change = f' ({met - before:+d})' if met != before else ''
        shown = f'**{met}{change}**' if met > before else f'{met}{change}'
        yield (
            f'| {mutant["name"]} | {len(catchers)} | {paper} | {shown} '
            f'| {"; ".join(mutant["broken"]) or "-"} |'
        )
    yield ''


def _headline(rows: dict[str, list[Row]], powers: dict[str, Power]) -> Iterator[str]:
    """Yield the table of all robots: what could have failed, and did or did not."""
    yield (
        '| Robot | Rows | Predicted | Can fail | Met | Near | Not met | Printed numbers among '
        "them | of these met | Mutants | Caught by the paper's rows | Mutants that meet more |"
    )
    yield '|---|---|---|---|---|---|---|---|---|---|---|---|'
    every: list[tuple[int, ...]] = []
    for robot, own in rows.items():
        power = powers[robot]
        counts = _counts(own, power)
        every.append(counts)
        scored = [r for r in own if r.kind is Kind.PREDICTED and r.quantity in power.verdicts]
        before = power.met_under({'became': {}}, scored)
        better = [m['name'] for m in power.mutants if power.met_under(m, scored) > before]
        yield f'| {robot} | {_cells(counts)} | {", ".join(better) or "-"} |'
    yield f'| all | {_cells([sum(column) for column in zip(*every, strict=True)])} | |'
    yield ''


def _counts(rows: Sequence[Row], power: Power) -> tuple[int, ...]:
    """Return the numbers of a line of the headline."""
    decisive = counted(rows, power)
    verdicts = Counter(r.verdict for r in decisive)
    numbers = [r for r in decisive if r.printed]
    paper = [r for r in rows if r.kind in PAPER]
    return (
        len(rows),
        sum(r.kind is Kind.PREDICTED for r in rows),
        len(decisive),
        verdicts[Verdict.MET],
        verdicts[Verdict.NEAR],
        verdicts[Verdict.NOT_MET],
        len(numbers),
        sum(r.verdict is Verdict.MET for r in numbers),
        len(power.mutants),
        sum(bool(power.catchers(m, paper)) for m in power.mutants),
    )


def _cells(counts: Sequence[int]) -> str:
    return ' | '.join(f'**{n}**' if i == 2 else f'{n}' for i, n in enumerate(counts))


def _computed_with(known: dict[str, str]) -> list[str]:
    return [
        '| Computed with | SHA-256, first digits |',
        '|---|---|',
        *(f'| {what} | `{digest}` |' for what, digest in known.items()),
        '',
    ]
