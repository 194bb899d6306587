# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The layouts name topics, fields and services that a launched robot has."""

from importlib import import_module
import json
from pathlib import Path
import re
import xml.etree.ElementTree as ElementTree

from geometry_msgs.msg import PoseStamped
import pytest

LAYOUTS = Path(__file__).resolve().parents[1] / 'layouts'
PAGE = (Path(__file__).resolve().parents[2] / 'docs/interfaces.md').read_text(encoding='utf-8')
ROBOT = '/stiff_flop/'


def documented():
    """Return the type of every topic and service that docs/interfaces.md lists."""
    found = {}
    for line in PAGE.splitlines():
        row = re.match(r'\| (`[^|]+`) \| (\w+)/(\w+)', line)
        for name in re.findall(r'`([^`]+)`', row.group(1)) if row else []:
            found[name] = row.group(2), row.group(3)
    services = re.findall(r'^- ((?:`[\w/]+`,? ?)+):', PAGE, re.MULTILINE)
    found.update({name: None for names in services for name in re.findall(r'`([\w/]+)`', names)})
    return found


KNOWN = documented()


def leads_to_a_number(topic, fields):
    """Whether fields lead from a message of a topic to a number."""
    package, name = KNOWN[topic]
    value = getattr(import_module(f'{package}.msg'), name)()
    for field in re.split(r'[./]', fields):
        name, _, index = field.partition('[')
        kind = value.get_fields_and_field_types()[name]
        value = getattr(value, name)
        if index:
            return kind == 'sequence<double>'
    return isinstance(value, int | float)


def foxglove():
    return json.loads((LAYOUTS / 'foxglove.json').read_text(encoding='utf-8'))


def named_in(node, key):
    """Yield every value of a key, however deep."""
    for name, value in node.items() if isinstance(node, dict) else enumerate(node):
        if name == key:
            yield value
        if isinstance(value, dict | list):
            yield from named_in(value, key)


def test_foxglove_shows_what_there_is():
    layout = foxglove()
    panels = set(layout['configById'])
    placed = set(re.findall(r'"(\w+!\w+)"', json.dumps(layout['layout'])))
    assert placed == panels
    for path in named_in(layout, 'value'):
        if path.startswith(ROBOT):
            topic, _, fields = path.removeprefix(ROBOT).partition('.')
            assert leads_to_a_number(topic, fields), path
    for topics in named_in(layout, 'topics'):
        assert {t.removeprefix(ROBOT) for t in topics} <= set(KNOWN)
    for key in ('poseTopic', 'topicName', 'serviceName'):
        names = [name.removeprefix(ROBOT) for name in named_in(layout, key)]
        assert names and set(names) <= set(KNOWN)


def filled(message, values):
    """Write values into a message, whose setters check names and types."""
    for name, value in values.items():
        if isinstance(value, dict):
            filled(getattr(message, name), value)
        else:
            setattr(message, name, value)
    return message


def test_its_target_is_a_message():
    config = foxglove()['configById']['Publish!target']
    message = filled(PoseStamped(), json.loads(config['value']))
    assert message.header.frame_id == 'stiff_flop/base_link'
    assert message.pose.position.z > 0.0


def test_plotjuggler_draws_what_there_is():
    root = ElementTree.parse(LAYOUTS / 'plotjuggler.xml').getroot()
    curves = [curve.get('name') for curve in root.iter('curve')]
    assert curves
    for name in curves:
        topic, _, fields = name.removeprefix(ROBOT).partition('/')
        assert leads_to_a_number(topic, fields), name
    subscribed = {topic.get('name') for topic in root.iter('topic')}
    assert {ROBOT + name.removeprefix(ROBOT).partition('/')[0] for name in curves} == subscribed


@pytest.mark.parametrize('file', ['foxglove.json', 'plotjuggler.xml'])
def test_another_robot_is_one_word(file):
    text = (LAYOUTS / file).read_text(encoding='utf-8')
    assert set(re.findall(r'/?\b(\w+)/(?:actuator_state|tip_pose)', text)) == {'stiff_flop'}
