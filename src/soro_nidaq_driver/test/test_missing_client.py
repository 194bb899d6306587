# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Without NI's client the emulated card says what is missing."""

import subprocess
import sys

from soro_emulation.node import GROUP


def test_the_emulated_card_names_the_client_and_where_it_comes_from():
    code = (
        'import sys; sys.modules["nidaqmx"] = None\n'
        'from soro_driver import devices\n'
        'from soro_mechanics.core.errors import SoroError\n'
        f'try: devices.load("nidaq", {GROUP!r})\n'
        'except SoroError as error: print(error)\n'
    )
    result = subprocess.run(
        [sys.executable, '-c', code], capture_output=True, text=True, timeout=60
    )
    assert "NI-DAQmx's client" in result.stdout, result.stderr
    assert "pip install 'nidaqmx[grpc]'" in result.stdout
