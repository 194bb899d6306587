# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Processes that have loaded a node and become one as often as they are asked (Linux).

To load a node takes as long as all the rest of its start, and these tests start a hundred of two
kinds. What becomes a node has started no thread, and ROS not yet.
"""

from __future__ import annotations

import atexit
import ctypes
from functools import cache
import json
import os
import socket
import subprocess
import sys
from typing import Any

PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
LONGEST = 1 << 20  # bytes of a request
TEMPLATE = """
import importlib, json, os, socket, sys
asker, module = os.getppid(), importlib.import_module(sys.argv[1])
line = socket.socket(fileno=int(sys.argv[2]))
while True:
    text, descriptors, *_ = socket.recv_fds(line, 1 << 20, 1)
    if not text:
        break
    if os.fork() == 0:
        if node := os.fork():
            line.send(str(node).encode())
            os._exit(0)
        line.close()
        os.dup2(descriptors[0], 2)
        os.close(descriptors[0])
        arguments, environment = json.loads(text)
        os.environ.clear()
        os.environ.update(environment)
        sys.argv[1:] = arguments
        while os.getppid() != asker:
            os.sched_yield()
        module.main()
    os.wait()
    os.close(descriptors[0])
"""


@cache
def template(module: str) -> socket.socket:
    """Return the line to a process that has loaded the module of a node; it ends with this one."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    command = [sys.executable, '-c', TEMPLATE, module, str(theirs.fileno())]
    process = subprocess.Popen(command, pass_fds=[theirs.fileno()])
    theirs.close()
    atexit.register(process.wait, 30.0)
    atexit.register(ours.close)  # first
    return ours


class TemplateNode(subprocess.Popen):
    """A node that a template became: a child of this process, as if it had been started here."""

    def __init__(self, module: str, arguments: list[str]) -> None:
        self._module, self._arguments = module, arguments
        command = [sys.executable, '-c', f'from {module} import main; main()', *arguments]
        super().__init__(command, stderr=subprocess.PIPE, text=True)

    def _execute_child(self, command: list[str], *others: Any) -> None:
        line, stderr = template(self._module), others[14]  # `errwrite`
        adopt = ctypes.CDLL(None).prctl
        adopt(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # the node's parent ends at once
        try:
            request = json.dumps([self._arguments, dict(os.environ)]).encode()
            socket.send_fds(line, [request], [stderr])
            self.pid = int(line.recv(LONGEST))
            self._child_created = True
            while _parent(self.pid) != os.getpid():
                os.sched_yield()
        finally:
            adopt(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
            os.close(stderr)
            self._closed_child_pipe_fds = True


def _parent(pid: int) -> int:
    with open(f'/proc/{pid}/stat', encoding='utf-8', errors='replace') as file:
        return int(file.read().rpartition(')')[2].split()[1])
