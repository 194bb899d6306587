# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What the program of test_main.py does: by itself, as its processes need no pytest."""

from concurrent.futures import ThreadPoolExecutor
import ctypes
import hashlib
import os
import subprocess
import sys
import threading

from soro_node import main as main_module

LONGER = 1.0 + main_module.PATIENCE + main_module.LEAVE_TIME  # s, than a busy thread is waited for


def kernel():
    """Compute for minutes without the interpreter and without a look at signals."""
    hashlib.pbkdf2_hmac('sha256', b'', b'', 2**31 - 1)


def pool():
    """Wait for a thread that the interpreter would wait for at its end."""
    with ThreadPoolExecutor(1) as executor:
        executor.submit(kernel).result()


def queue():
    """Have a thread compute; the one that spins goes on."""
    threading.Thread(target=pool, daemon=True).start()
    threading.Event().wait(0.1)


def child():
    """Wait for a process that ends with this one."""
    code = 'import sys; sys.stdin.read()'
    subprocess.Popen([sys.executable, '-c', code], stdin=subprocess.PIPE).wait()


def keep_interpreter():
    """Wait for a minute as the middleware does in a lock of its own: nobody gets the GIL."""
    ctypes.PyDLL(None).sleep(60)


def callback(started):
    """Wait inside of a callback from C, as a compiler calls some: what is raised there is lost."""

    def wait():
        started()
        threading.Event().wait(30.0)

    ctypes.CFUNCTYPE(None)(wait)()
    main_module.end_if_interrupted()


def cores_of_threads():
    """Return how many cores the threads of this process may use together."""
    return len(set().union(*(os.sched_getaffinity(int(t)) for t in os.listdir('/proc/self/task'))))


def niceness_of_threads():
    """Return the nice values of the threads of this process, each once."""
    threads = map(int, os.listdir('/proc/self/task'))
    return sorted({os.getpriority(os.PRIO_PROCESS, thread) for thread in threads})


busy = {'kernel': kernel, 'pool': pool, 'queue': queue, 'child': child}


class Slow:
    """What the interpreter takes minutes to take apart."""

    def __init__(self):
        self.wait = threading.Event().wait

    def __del__(self):
        self.wait(60.0)
