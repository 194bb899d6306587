# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Everything outside the subset is refused with file, line and remedy."""

from launch_rig import LaunchRig
import pytest

from soro_launch.errors import LaunchError

NODE = '<node pkg="pkg" exec="run" name="n"'


@pytest.mark.parametrize(
    ('body', 'line', 'reason'),
    [
        ('<nod pkg="pkg" exec="run"/>', 2, "did you mean 'node'"),
        ('\n<lifecycle_node pkg="pkg" exec="run"/>', 3, 'parameter autostart'),
        ('<executable cmd="ls"/>', 2, 'start a <node>'),
        ('<timer period="1"/>', 2, 'is not known inside <launch>'),
        ('<node pkg="pkg" exec="run" nmae="x"/>', 2, "did you mean 'name'"),
        ('<node exec="run"/>', 2, "attribute 'pkg' is missing"),
        ('<group>\n<arg/></group>', 3, "attribute 'name' is missing"),
        ('words', 2, 'outside of an attribute'),
        ('<log message="a" if="1" unless="0"/>', 2, 'both if and unless'),
        ('<log message="a" if="maybe"/>', 2, 'known: true, false, 1, 0'),
        ('<log message="a" if=""/>', 2, 'known: true, false, 1, 0'),
        ('<log message="$(eval 1)"/>', 2, 'is not known to this runner'),
        ('<log message="$(var nobody)"/>', 2, 'has no value here'),
        ('<log message="$(env SORO_NOWHERE)"/>', 2, 'SORO_NOWHERE is not set'),
        ('<log message="$(equals a)"/>', 2, 'takes 2 arguments, 1 given'),
        ('<log message="$(var a"/>', 2, r'closing \) is missing'),
        ('<log message="$(not maybe)"/>', 2, 'write true or false'),
        ('<log message="$(find-pkg-share pgk)"/>', 2, "did you mean 'pkg'"),
        ('<log message="$(command false)"/>', 2, 'failed with 1'),
        ("<log message=\"$(command 'sh -c \\'echo no >&amp;2\\'')\"/>", 2, 'standard error: no'),
        ('<log message="$(command soro_nowhere)"/>', 2, 'cannot be run'),
        ('<node pkg="pkg" exec="rnu"/>', 2, "no executable 'rnu' in .*: run"),
        ('<node pkg="gone" exec="run"/>', 2, 'make setup'),
        ('<node pkg="pkg" exec="run" name="a-b"/>', 2, 'not a valid node name'),
        ('<push-ros-namespace namespace="/a/b.yaml"/>', 2, 'give namespace:=<name> too'),
        ('<push-ros-namespace namespace="1a"/>', 2, 'no digit after a slash'),
        ('<push-ros-namespace namespace="a__b"/>', 2, "'/a__b' is not a valid namespace"),
        (NODE + ' output="window"/>', 2, 'screen, both or log'),
        (NODE + ' on_exit="restart"/>', 2, 'only "shutdown"'),
        (NODE + ' respawn="maybe"/>', 2, 'respawn'),
        (NODE + ' sigterm_timeout="-1"/>', 2, 'at least 0'),
        (NODE + ' args="\'open"/>', 2, 'args: No closing quotation'),
        (NODE + '>\n<param name="a" value="1e-3"/></node>', 3, 'needs a type='),
        (NODE + '>\n<param name="a" value="1" type="yaml"/></node>', 3, "type='yaml' is not"),
        (NODE + '>\n<param name="a" value="1.5" type="int"/></node>', 3, 'not of type int'),
        (NODE + '>\n<param name="a" value="2" type="bool"/></node>', 3, 'write true or false'),
        (NODE + '>\n<param name="a" value="[1, 2.5]" type="list_of_float"/></node>', 3, 'item 1 '),
        (NODE + '>\n<param name="a" value="5" type="list_of_int"/></node>', 3, 'brackets'),
        (NODE + '>\n<param name="a" type="int"/></node>', 3, "'value' is missing"),
        (NODE + '>\n<param value="true"/></node>', 3, 'either name= and value=, or from='),
        (NODE + '>\n<param name="a" value="true" allow_substs="true"/></node>', 3, 'from= only'),
        (NODE + '>\n<param from="/nowhere.yaml"/></node>', 3, 'no parameter file'),
        ('<set_parameter name="a" value="[1, 2]"/>', 2, 'use <param type="list_of_'),
        ('<include file="other.launch.xml"/>', 2, r'write \$\(dirname\)'),
        ('<include file="/nowhere.launch.xml"/>', 2, 'no launch file'),
        ('<include file="$(dirname)/test.launch.xml"/>', 2, 'includes itself'),
        ('<arg name="a" description="the speed"/>', 2, r'a:= must be given \(the speed\)'),
        ('<arg name="a" default="x"><choice value="y"/></arg>', 2, 'choose one of y'),
        ('<group forwarding="perhaps"/>', 2, 'forwarding'),
    ],
)
def test_refused_with_file_and_line(tmp_path, body, line, reason):
    with pytest.raises(LaunchError, match=reason) as caught:
        LaunchRig(tmp_path).plan(body)
    assert str(caught.value).startswith(f'{tmp_path}/test.launch.xml:{line}: ')


@pytest.mark.parametrize(
    ('inside', 'reason'),
    [
        ('<log message="$(var a"/>', r'closing \) is missing'),
        ('<log message="$(vra a)"/>', 'is not known to this runner'),
        ('<log message="$(var a $(equals b))"/>', 'takes 2 arguments, 1 given'),
        ('<log message="x" if="$(not"/>', r'closing \) is missing'),
        (NODE + ' args="$(env  A)"/>', 'exactly one space'),
        (NODE + ' args="\'open"/>', 'args: No closing quotation'),
        (NODE + ' on_exit="restart"/>', 'only "shutdown"'),
        (NODE + ' respawn_delay="soon"/>', "respawn_delay='soon'"),
        (NODE + '><param name="a" value="1" type="yaml"/></node>', "type='yaml' is not"),
        (NODE + '><param name="a" value="1e-3"/></node>', 'needs a type='),
        (NODE + '><param name="a" value="$(var a" type="str"/></node>', r'closing \) is'),
        (
            NODE + '><param name="a" value="[1, $(var a]" type="list_of_int"/></node>',
            r'closing \)',
        ),
        (NODE + '><param from="$(dirname x)"/></node>', 'takes 0 arguments'),
        ('<group forwarding="perhaps"/>', 'forwarding'),
        ('<include file="$(dirname"/>', r'closing \) is missing'),
    ],
)
def test_what_no_condition_mends_is_refused_also_where_it_is_not_wanted(tmp_path, inside, reason):
    """ROS 2 launch parses a whole file before it looks at any condition."""
    rig = LaunchRig(tmp_path)
    for never in ('if="false"', 'unless="true"'):
        with pytest.raises(LaunchError, match=reason) as caught:
            rig.plan(f'<group {never}>\n{inside}\n</group>')
        assert str(caught.value).startswith(f'{tmp_path}/test.launch.xml:3: ')


def test_what_depends_on_values_is_not_refused_where_it_is_not_wanted(tmp_path):
    rig = LaunchRig(tmp_path)
    rig.plan(
        '<arg name="b" default="$(var b x)" description="a $(b, and so on"/>'
        '<group if="false"><log message="$(var nobody) $(env SORO_NOWHERE)"/>'
        '<include file="/nowhere.launch.xml"/><node pkg="gone" exec="run" respawn="$(var b)">'
        '<param name="c" value="[\'$(env A \'\'x y\'\')\', 2]" type="list_of_str"/>'
        '</node></group>'
    )


def test_parameters_that_do_not_fit_on_the_disk_are_named(tmp_path):
    rig = LaunchRig(tmp_path)
    (tmp_path / 'parameters').mkdir()
    (tmp_path / 'parameters' / 'launch_params_1.yaml').symlink_to('/dev/full')
    with pytest.raises(LaunchError, match='launch_params_1.yaml cannot be written: No space left'):
        rig.plan(NODE + '><param name="a" value="true"/></node>')


def test_broken_xml_is_refused(tmp_path):
    rig = LaunchRig(tmp_path)
    with pytest.raises(LaunchError, match=r'launch.xml:3: is not valid XML: mismatched tag'):
        rig.plan('<group>')


def test_undeclared_arguments_are_refused_with_the_valid_ones(tmp_path):
    rig = LaunchRig(tmp_path)
    body = '<arg name="use_emulator" default="true"/>\n<arg name="robot" default="r"/>'
    with pytest.raises(LaunchError) as caught:
        rig.plan(body, use_emulatr='false')
    assert str(caught.value) == (
        'use_emulatr:= is not an argument of test.launch.xml. Did you mean use_emulator? '
        'Valid: use_emulator, robot'
    )


def test_arguments_behind_a_closed_group_cannot_be_given(tmp_path):
    rig = LaunchRig(tmp_path)
    rig.file('<arg name="inner" default="1"/>', 'child.launch.xml')
    include = '<include file="$(dirname)/child.launch.xml"/>'
    assert rig.plan(include, inner='2').processes == []
    with pytest.raises(LaunchError, match='inner:= is not an argument'):
        rig.plan(f'<group forwarding="false">{include}</group>', inner='2')


def test_folder_after_an_include_elsewhere_is_refused(tmp_path):
    rig = LaunchRig(tmp_path)
    (tmp_path / 'share' / 'pkg' / 'child.launch.xml').write_text('<launch/>')
    include = '<include file="$(find-pkg-share pkg)/child.launch.xml"/>\n'
    with pytest.raises(LaunchError, match=r':3: .*use \$\(find-pkg-share'):
        rig.plan(include + '<log message="$(dirname)"/>')


def test_parameter_file_that_ros_would_ignore_is_refused(tmp_path):
    rig = LaunchRig(tmp_path)
    file = tmp_path / 'node.yaml'
    body = f'{NODE}>\n<param from="{file}"/></node>'
    file.write_text('driver: {ros__parameters: {a: 1}}')
    with pytest.raises(LaunchError, match=r':3: .*write /\*\*/driver'):
        rig.plan(body)
    file.write_text('/**: {a: 1}')
    with pytest.raises(LaunchError, match='must hold ros__parameters'):
        rig.plan(body)
    file.write_text('/**/driver: {ros__parameters: {a: 1}}')
    assert rig.plan(body).processes[0].command[-1] == str(file)


def test_files_that_include_each_other_are_refused(tmp_path):
    rig = LaunchRig(tmp_path)
    rig.file('<include file="$(dirname)/test.launch.xml"/>', 'other.launch.xml')
    with pytest.raises(LaunchError, match='includes itself'):
        rig.plan('<include file="$(dirname)/other.launch.xml"/>')
