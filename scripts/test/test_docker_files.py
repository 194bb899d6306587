# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The container files against the workspace: an engine is not needed."""

from pathlib import Path
import re
import xml.etree.ElementTree as ElementTree

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE = (ROOT / 'docker/Dockerfile').read_text()
SERVICES = yaml.safe_load((ROOT / 'docker/compose.yaml').read_text())['services']
LAUNCH = ElementTree.parse(ROOT / 'launch/robot.launch.xml').getroot()


def stages():
    """Return the text of every stage by name, its parents' text in front."""
    found = {}
    for part in re.split(r'^FROM ', DOCKERFILE, flags=re.MULTILINE)[1:]:
        base, _, name = part.splitlines()[0].partition(' AS ')
        found[name] = found.get(base, '') + part
    return found


def whole(name):
    """Return a service with what it extends."""
    service = dict(SERVICES[name])
    parent = service.pop('extends', {}).get('service')
    if parent is None:
        return service
    merged = {**whole(parent), **service}
    for key in ('build', 'environment'):
        merged[key] = {**whole(parent).get(key, {}), **service.get(key, {})}
    return merged


@pytest.mark.parametrize('name', SERVICES)
def test_a_service_builds_a_stage_and_launches_what_exists(name):
    service = whole(name)
    assert service['build']['target'] in stages()
    assert (ROOT / 'docker' / service['build']['context'] / 'docker/Dockerfile').is_file()
    verb, launch, robot, *given = service['command']
    assert (verb, launch) == ('soro', 'launch')
    default = re.fullmatch(r'\$\{ROBOT:-(\w+)\}', robot).group(1)
    assert (ROOT / f'config/robots/{default}.yaml').is_file()
    declared = {a.get('name') for a in LAUNCH.iter('arg') if a.get('default') is not None}
    assert {word.partition(':=')[0] for word in given} <= declared


@pytest.mark.parametrize('name', SERVICES)
def test_a_container_is_stopped_as_by_ctrl_c_and_has_time_to_vent(name):
    service = whole(name)
    assert service['init'] and service['stop_signal'] == 'SIGINT'
    # The driver is given 8 s, then 5 s more; see the launch file.
    assert int(service['stop_grace_period'].removesuffix('s')) >= 13
    assert 'STOPSIGNAL SIGINT' in stages()[service['build']['target']]


def test_the_stage_for_rviz_has_every_package_that_the_launch_file_starts():
    ours = {p.name for p in (ROOT / 'src').iterdir()}
    started = {n.get('pkg') for n in LAUNCH.iter('node')} - ours
    assert started == {'robot_state_publisher', 'rviz2'}
    packages = set(re.findall(r'ros-\$\{ROS_DISTRO\}-([\w-]+)', stages()['rviz']))
    assert {p.replace('_', '-') for p in started} | {'xacro', 'interactive-markers'} <= packages
    assert whole('rviz')['build']['target'] == 'rviz'
    assert 'rviz:=true' in whole('rviz')['command']


def test_the_plain_image_is_the_robot_and_has_no_rviz():
    assert DOCKERFILE.strip().splitlines()[-1] == 'FROM robot'
    assert 'rviz2' not in stages()['robot']
    assert whole('robot')['build']['target'] == 'robot'
    # A plain `up` starts one robot, not three.
    assert [n for n, s in SERVICES.items() if 'profiles' not in s] == ['robot']


def test_files_that_the_image_names_exist():
    entry = re.search(r'ENTRYPOINT \["/workspace/([^"]+)"\]', DOCKERFILE).group(1)
    text = (ROOT / entry).read_text()
    for name in re.findall(r'source /workspace/(\S+)', text):
        assert (ROOT / name).is_file()
    assert 'make setup' in DOCKERFILE and (ROOT / 'Makefile').is_file()
    ignored = (ROOT / '.dockerignore').read_text().split()
    assert {'build', 'install', '.venv*'} <= set(ignored)
