# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""How the middleware is set in every process of this workspace.

Sockets. With ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST ROS asks nobody outside of this machine, but
its Fast DDS still listens at every address: whoever knows the ports is a peer. rmw_fastrtps makes
its transports itself in that range, after those of a profile. So for this machine alone a profile
of ours says everything (addresses, peers, no multicast), and the range is SYSTEM_DEFAULT, for
which rmw_fastrtps adds nothing. ``scripts/env.sh`` runs this file for programs that are not ours.

No shared memory. Fast DDS writes into a reader's queue there under a mutex that the reader's
process holds too: one that is preempted, or has less priority (a command line, a recorder, RViz),
keeps everybody in `publish` who writes to it. On a busy computer drivers and planners stood still
for up to 0.5 s, until a watchdog vented the robot. A datagram waits for nobody, and costs less.
Peers of ROS_STATIC_PEERS have it all the same: there rmw_fastrtps makes the transports.

Types. Fast DDS 3 asks every process that it finds how its messages are made. Nobody here wants the
answers, ROS 2 compares its own hashes; but the thread that takes them crashes now and then while
several processes start (``TypeLookupManager::notify_callbacks``, seen with 3.2.2), and the node
with it. Without that service a process has three threads less.

Imports. A message finds its type support by way of a package that also generates messages, with
their parsers: a quarter of what a process needs for its first message.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from enum import Enum
import os
from pathlib import Path
import shlex
import sys

FAST_DDS = ('', 'rmw_fastrtps_cpp', 'rmw_fastrtps_dynamic_cpp')
LOOPBACK = Path(__file__).with_name('soro_fastdds_loopback.xml')
NETWORK = Path(__file__).with_name('soro_fastdds_network.xml')
# The second is the only one that Fast DDS 2 (Jazzy) knows; of it Fast DDS 3 warns.
VARIABLES = ('FASTDDS_DEFAULT_PROFILES_FILE', 'FASTRTPS_DEFAULT_PROFILES_FILE')
RANGE, PEERS, DEPRECATED = (
    'ROS_AUTOMATIC_DISCOVERY_RANGE',
    'ROS_STATIC_PEERS',
    'ROS_LOCALHOST_ONLY',
)
GENERATOR = 'rosidl_generator_py.generate_py_impl'


class Reach(Enum):
    """From where the nodes of a process can be reached."""

    MACHINE = 'sockets at 127.0.0.1 only'
    NETWORK = 'open to every machine that reaches this one'
    OFF = 'to nobody'
    OWN_PROFILE = 'as the Fast DDS profile of the user says'
    OTHER_MIDDLEWARE = 'as another middleware than Fast DDS has it'


def reach(environment: Mapping[str, str]) -> Reach:
    """Return what the environment of a process asks for; this machine where it says nothing."""
    if environment.get('RMW_IMPLEMENTATION', '') not in FAST_DDS:
        return Reach.OTHER_MIDDLEWARE
    named = _named(environment)
    if named and not _is_ours(named):
        return Reach.OWN_PROFILE
    asked = environment.get(RANGE, '')
    if asked == 'OFF':
        return Reach.OFF
    if environment.get(PEERS):
        return Reach.NETWORK
    # SYSTEM_DEFAULT beside our profile is what `set_middleware` or scripts/env.sh have written.
    ours = asked == 'SYSTEM_DEFAULT' and Path(named).name == LOOPBACK.name
    local = ours or asked in ('', 'LOCALHOST') or environment.get(DEPRECATED) == '1'
    return Reach.MACHINE if local else Reach.NETWORK


def set_middleware(environment: MutableMapping[str, str] = os.environ) -> None:
    """Name our profile to Fast DDS, unless the user names one; call before a context is made."""
    sys.modules.setdefault(GENERATOR, None)  # type: ignore[arg-type]  # as if not installed
    wanted, known = reach(environment), _known(environment)
    if wanted is Reach.OWN_PROFILE:
        environment.setdefault(known, _named(environment))
        return
    if wanted is Reach.OTHER_MIDDLEWARE:
        if environment.get(RANGE, '') == '' or _is_ours(_named(environment)):
            environment[RANGE] = 'LOCALHOST'
        return
    for name in VARIABLES:
        environment.pop(name, None)
    environment[known] = str(LOOPBACK if wanted is Reach.MACHINE else NETWORK)
    if wanted is Reach.MACHINE:
        environment[RANGE] = 'SYSTEM_DEFAULT'
        environment.pop(DEPRECATED, None)  # it stands for LOCALHOST, whatever the range
    elif environment.get(PEERS) and environment.get(RANGE, '') in ('', 'SYSTEM_DEFAULT'):
        environment[RANGE] = 'LOCALHOST'  # these peers, nobody else


def _known(environment: Mapping[str, str]) -> str:
    """Return the variable that the installed Fast DDS reads."""
    prefixes = (sys.prefix, *environment.get('AMENT_PREFIX_PATH', '').split(os.pathsep))
    return VARIABLES[any(Path(prefix, 'share/fastrtps').is_dir() for prefix in prefixes)]


def _named(environment: Mapping[str, str]) -> str:
    return next((environment[name] for name in VARIABLES if environment.get(name)), '')


def _is_ours(profile: str) -> bool:
    """Whether a profile is one of these, perhaps of another copy of the workspace."""
    return Path(profile).name in (LOOPBACK.name, NETWORK.name)


def _shell_lines(before: Mapping[str, str]) -> str:
    """Return what a shell has to evaluate for the environment of `set_middleware`."""
    after = dict(before)
    set_middleware(after)
    return '\n'.join(
        f'export {name}={shlex.quote(after[name])}' if name in after else f'unset {name}'
        for name in (*VARIABLES, RANGE, DEPRECATED)
        if after.get(name) != before.get(name)
    )


if __name__ == '__main__':
    print(_shell_lines(os.environ))
