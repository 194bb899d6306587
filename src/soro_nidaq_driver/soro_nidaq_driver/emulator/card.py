# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Tasks and terminals of emulated NI cards; they refuse what NI-DAQmx would refuse."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

# Codes of NI-DAQmx that a card answers with (nidaqmx.error_codes.DAQmxErrors).
INVALID_DEVICE = -200220
NO_SUCH_CHANNEL = -200170
INVALID_TASK = -200088
RESERVED = -50103
ABORTED = -88709
INVALID_DUTY = INVALID_VALUE = -200077
NO_CHANNELS = -200478
OUT_OF_MEMORY = -50352
TASK_RUNNING = -200479  # the operation cannot be performed while the task is running

MODEL = 'USB-6341'
INPUTS, OUTPUTS, COUNTERS, LINES = 16, 2, 4, 8
MAX_TASKS, MAX_CHANNELS = 64, 64  # of all cards, of a task: what is kept must not grow


class CardError(Exception):
    """The card refuses; carries the code of NI-DAQmx."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


@dataclass
class Task:
    """One task: the terminals it uses and whether it runs."""

    name: str
    inputs: list[str] = field(default_factory=list)
    counter: str = ''
    analog: str = ''
    limits: tuple[float, float] = (0.0, 0.0)  # V
    line: str = ''
    duty: float = 0.0
    running: bool = False
    aborted: bool = False

    @property
    def cards(self) -> set[str]:
        """Names of the cards it uses."""
        terminals = [*self.inputs, self.counter, self.analog, self.line]
        return {t.split('/')[0] for t in terminals if t}


class Cards:
    """Cards with their tasks.

    - `names`: 'Dev1', ...
    - `output`: ``output(counter, duty)`` is called whenever a counter's output may have changed; a
      duty of zero means no pulses, line low.
    - `analog`: ``analog(terminal, volts)`` is called whenever an analog output may have changed.
    - `line`: ``line(name, level)`` is called for every written digital line.
    - `wired`: terminals that they have besides those of a USB-6341.

    Its attribute `tasks`: all that exist, by name.
    """

    def __init__(
        self,
        names: tuple[str, ...],
        output: Callable[[str, float], None],
        analog: Callable[[str, float], None],
        line: Callable[[str, bool], None],
        wired: Iterable[str] = (),
    ) -> None:
        self.names = names
        self._output, self._analog = output, analog
        self._line, self._wired = line, frozenset(wired)
        self.tasks: dict[str, Task] = {}
        self._counted = 0

    def find_or_create(self, name: str) -> tuple[Task, bool]:
        """Return the task of a name, and whether it had to be made; an empty name gets one."""
        if name in self.tasks:
            return self.tasks[name], False
        if len(self.tasks) >= MAX_TASKS:
            raise CardError(OUT_OF_MEMORY, f'There are {MAX_TASKS} tasks already.')
        if not name:
            self._counted += 1
            name = f'_unnamedTask<{self._counted}>'
        self.tasks[name] = Task(name)
        return self.tasks[name], True

    def task(self, name: str) -> Task:
        """Return a task that exists."""
        if name not in self.tasks:
            raise CardError(INVALID_TASK, 'Task specified is invalid or does not exist.')
        return self.tasks[name]

    def clear(self, name: str) -> None:
        """Stop and forget a task."""
        self.stop(self.task(name))
        del self.tasks[name]

    def serial(self, card: str) -> int:
        """Return the serial number of a card."""
        self.check_card(card)
        return 0x0500A001 + self.names.index(card)

    def check_card(self, card: str) -> None:
        """Refuse a card that is not there."""
        if card not in self.names:
            raise CardError(INVALID_DEVICE, f'Device identifier is invalid: {card}')

    def check_terminal(self, terminal: str, kind: str, count: int) -> None:
        """Refuse a terminal that the card does not have."""
        card, _, rest = terminal.partition('/')
        self.check_card(card)
        wired = terminal in self._wired and rest[:2] == kind[:2]
        if not wired and rest not in {f'{kind}{i}' for i in range(count)}:
            raise CardError(NO_SUCH_CHANNEL, f'Physical channel does not exist: {terminal[:80]}')

    def changeable_task(self, name: str) -> Task:
        """Return a task; refuse another channel for one that runs, or that has very many."""
        task = self.task(name)
        if task.running:
            raise CardError(TASK_RUNNING, 'Channels cannot be added while the task is running.')
        if len(task.inputs) >= MAX_CHANNELS:
            raise CardError(OUT_OF_MEMORY, f'The task has {MAX_CHANNELS} channels already.')
        return task

    def start(self, task: Task) -> None:
        """Start a task; a counter begins its pulses."""
        if not (task.inputs or task.counter or task.analog or task.line):
            raise CardError(NO_CHANNELS, 'There are no channels in the task.')
        for other in self.tasks.values():
            if other is not task and other.running and other.counter == task.counter != '':
                raise CardError(RESERVED, f'The specified resource is reserved: {task.counter}')
        task.running, task.aborted = True, False
        if task.counter:
            self._output(task.counter, task.duty)

    def stop(self, task: Task) -> None:
        """Stop a task; a counter's line goes low."""
        if task.running and task.counter:
            self._output(task.counter, 0.0)
        task.running = task.aborted = False

    def write_duty(self, task: Task, duty: float) -> None:
        """Change the duty cycle of a running counter."""
        self.require_running(task)
        self.check_duty(duty)
        task.duty = duty
        self._output(task.counter, duty)

    def write_volts(self, task: Task, volts: float) -> None:
        """Change an analog output, which keeps the voltage; such a task starts by itself."""
        _check(task, task.analog, 'analog outputs')
        low, high = task.limits
        if not low <= volts <= high:
            raise CardError(INVALID_VALUE, f'Requested value is not supported: {volts} V')
        task.running = True
        self._analog(task.analog, volts)

    def write_line(self, task: Task, level: bool) -> None:
        """Write a digital line; such a task starts by itself."""
        _check(task, task.line, 'digital lines')
        task.running = True
        self._line(task.line, level)

    def require_running(self, task: Task) -> None:
        """Refuse work on a task that a device reset has aborted, or that was never started."""
        _check(task)
        if not task.running:
            raise CardError(-200983, 'The task is not started.')

    def check_duty(self, duty: float) -> None:
        """Refuse a duty cycle that the counter cannot generate."""
        if not 0.0 < duty < 1.0:
            raise CardError(INVALID_DUTY, f'Requested value is not supported: duty cycle {duty}')

    def reset(self, card: str) -> None:
        """Abort every task of a card and let its outputs go idle."""
        self.check_card(card)
        further = [t for t in self._wired if t.startswith(f'{card}/ao')]
        for terminal in {*(f'{card}/ao{i}' for i in range(OUTPUTS)), *further}:
            self._analog(terminal, 0.0)  # they keep their voltages when their tasks end
        for task in self.tasks.values():
            if card in task.cards:
                was_running = task.running
                self.stop(task)
                task.aborted = was_running


def _check(task: Task, terminal: str = '', what: str = '') -> None:
    if task.aborted:
        raise CardError(ABORTED, 'Task was aborted by a device reset.')
    if what and not terminal:
        raise CardError(NO_CHANNELS, f'There are no {what} in the task.')
