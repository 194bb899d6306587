# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What holds for the tests of every package."""

import contextlib
import os
import signal


def _nothing(number, frame):
    """Take a signal; unlike SIG_IGN, this is not inherited by programs that are started."""


# A shell starts what stands before & with SIGINT ignored, and nohup with SIGHUP. Programs that are
# started here would inherit that and not end when a test sends them these signals. Whoever ran the
# tests so still wants them to outlive his terminal.
for _number in (signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _nothing)

# Tests check compiled kernels, also where these have to be compiled first.
os.environ.setdefault('SORO_KERNELS', 'compiled')
# Emulated bodies without inertia: several run at once, beside what is tested.
os.environ.setdefault('SORO_PLANT', 'quasi_static')
# How long an example takes by the wall is no fault of what is tested on a busy computer, and an
# example found by chance none of the change it was found with: `make test` draws the same ones
# each time, `make test ARGS="PACKAGE -- --hypothesis-profile=search"` many others.
with contextlib.suppress(ImportError):  # where only tests without it are run
    from hypothesis import settings

    settings.register_profile('search', deadline=None, max_examples=10_000)
    settings.register_profile('soro', deadline=None, derandomize=True)
    settings.load_profile('soro')
