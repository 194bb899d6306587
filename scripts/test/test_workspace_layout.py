# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What makes a rebuild necessary and what does not; which ROS is used."""

import json
import os
from pathlib import Path
import shutil
import subprocess
import sys
import sysconfig

import pytest
from workspace_build import Build
from workspace_environment import Environment, mend_cmake_paths, prefer_own_toolkits
from workspace_layout import check_place, installed_ros_prefixes, ROOT, SetupError, Workspace

MANIFEST = '<package format="3"><name>{}</name></package>'


def say_nothing(text: str) -> None:
    """Take the place of the progress lines."""


@pytest.fixture
def workspace(tmp_path, monkeypatch) -> Workspace:
    """Return a small workspace with one package of each kind, nothing built."""
    monkeypatch.delenv('AMENT_PREFIX_PATH', raising=False)
    for name in ('soro_msgs', 'soro_node', 'soro_description'):
        folder = tmp_path / 'src' / name
        folder.mkdir(parents=True)
        (folder / 'package.xml').write_text(MANIFEST.format(name))
    (tmp_path / 'colcon.meta').write_text('{}')
    (tmp_path / 'src/soro_msgs/CMakeLists.txt').write_text('project(soro_msgs)')
    (tmp_path / 'src/soro_msgs/msg').mkdir()
    (tmp_path / 'src/soro_msgs/msg/Load.msg').write_text('float64 x')
    (tmp_path / 'src/soro_description/CMakeLists.txt').write_text('project(soro_description)')
    (tmp_path / 'src/soro_node/setup.py').write_text('setup()')
    (tmp_path / 'src/soro_node/soro_node').mkdir()
    (tmp_path / 'src/soro_node/soro_node/__init__.py').write_text('')
    (tmp_path / 'config/robots').mkdir(parents=True)
    (tmp_path / 'config/robots/a.yaml').write_text('name: a')
    return Workspace(tmp_path, 'kilted')


def changes(workspace: Workspace, change) -> list[str]:
    """Return the packages whose state a change altered."""
    before = {n: workspace.package_state(p) for n, p in workspace.packages().items()}
    change(workspace.root)
    after = {n: workspace.package_state(p) for n, p in workspace.packages().items()}
    return [name for name in before if before[name] != after[name]]


@pytest.mark.parametrize(
    ('file', 'text', 'expected'),
    [
        ('src/soro_msgs/msg/Load.msg', 'float64 y', ['soro_msgs']),
        ('src/soro_node/setup.py', 'setup(entry_points={})', ['soro_node']),
        ('src/soro_node/soro_node/new_module.py', 'x = 1', []),
        ('src/soro_node/soro_node/__init__.py', 'x = 1', []),
        ('src/soro_node/soro_node/frames.dbc', 'x', ['soro_node']),
        ('src/soro_node/soro_node/.cached', 'x', []),
        ('config/robots/b.yaml', 'name: b', ['soro_description']),
        ('config/robots/a.yaml', 'name: c', []),
        ('colcon.meta', '{"names": {}}', ['soro_description', 'soro_msgs']),
    ],
)
def test_only_what_a_build_reads_makes_it_due(workspace, file, text, expected):
    assert changes(workspace, lambda root: (root / file).write_text(text)) == expected


def test_deleted_robot_file_makes_a_rebuild_due(workspace):
    deleted = changes(workspace, lambda root: (root / 'config/robots/a.yaml').unlink())
    assert deleted == ['soro_description']


def test_everything_is_due_before_and_after_a_move(workspace, tmp_path):
    assert Environment(workspace, say_nothing).due() == ['environment']
    assert set(Build(workspace, say_nothing).everything_due()) == set(workspace.packages())
    before = workspace.package_state(workspace.packages()['soro_msgs'])
    moved = Workspace(tmp_path.rename(tmp_path.with_name('moved')), 'kilted')
    assert moved.package_state(moved.packages()['soro_msgs']) != before


def test_message_packages_are_those_with_messages(workspace):
    assert list(workspace.message_packages()) == ['soro_msgs']


@pytest.fixture
def ros(tmp_path_factory) -> Path:
    """Return an installed ROS."""
    prefix = tmp_path_factory.mktemp('opt') / 'ros'
    (prefix / 'share/rclpy').mkdir(parents=True)
    return prefix


def test_sourced_installation_is_used_and_own_prefixes_are_not(
    workspace, tmp_path, ros, monkeypatch
):
    environment = tmp_path / 'environment'
    (environment / 'share/rclpy').mkdir(parents=True)
    (environment / 'pyvenv.cfg').write_text('')
    monkeypatch.setenv('AMENT_PREFIX_PATH', f'{environment}:{ros}:{tmp_path / "missing"}')
    assert installed_ros_prefixes() == [str(ros)]
    assert Workspace(tmp_path, 'kilted').installed
    assert not Workspace(tmp_path, 'jazzy').installed
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(environment))
    assert not Workspace(tmp_path, 'kilted').installed


def test_stand_ins_are_left_out_where_ros_provides_them(workspace, tmp_path, ros, monkeypatch):
    folder = tmp_path / 'underlay/tf2_msgs'
    folder.mkdir(parents=True)
    (folder / 'package.xml').write_text(MANIFEST.format('tf2_msgs'))
    assert list(Workspace(tmp_path, 'kilted').underlay_packages()) == ['tf2_msgs']
    (ros / 'share/tf2_msgs').mkdir()
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(ros))
    assert Workspace(tmp_path, 'kilted').underlay_packages() == {}


def test_what_a_robot_runs_without_is_built_when_asked_for_and_kept(workspace, tmp_path):
    folder = tmp_path / 'underlay/control_msgs'
    folder.mkdir(parents=True)
    (folder / 'package.xml').write_text(MANIFEST.format('control_msgs'))
    assert 'control_msgs' not in workspace.packages()
    assert 'control_msgs' in Workspace(tmp_path, 'kilted', optional=True).packages()
    (tmp_path / 'install/control_msgs').mkdir(parents=True)
    assert 'control_msgs' in workspace.packages()


def test_another_checkout_that_is_sourced_is_no_ros(tmp_path, ros, monkeypatch):
    other = tmp_path / 'other'
    (other / 'src/soro_msgs').mkdir(parents=True)
    (other / 'src/soro_msgs/package.xml').write_text(MANIFEST.format('soro_msgs'))
    for prefix in ('install/tf2_msgs/share/tf2_msgs', 'install/soro_node/share'):
        (other / prefix).mkdir(parents=True)
    built = [str(other / 'install/tf2_msgs'), str(other / 'install/soro_node')]
    monkeypatch.setenv('AMENT_PREFIX_PATH', ':'.join(built))
    assert installed_ros_prefixes() == []
    monkeypatch.setenv('AMENT_PREFIX_PATH', ':'.join([*built, str(ros)]))
    assert installed_ros_prefixes() == [str(ros)]


def test_what_is_sourced_beside_a_ros_makes_no_other_world(tmp_path, ros, monkeypatch):
    overlay = tmp_path / 'overlay'
    (overlay / 'share').mkdir(parents=True)
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(ros))
    alone = Workspace(tmp_path, 'kilted').world
    monkeypatch.setenv('AMENT_PREFIX_PATH', f'{overlay}:{ros}')
    assert Workspace(tmp_path, 'kilted').world == alone


def finished(workspace: Workspace, **changes: str) -> Environment:
    """Return an environment that was made, by a shell that differed in something."""
    environment = Environment(workspace, say_nothing)
    workspace.venv.mkdir()
    python = '.'.join(map(str, sys.version_info[:3])) + ' ' + sys.base_prefix
    made = {'world': workspace.world, 'root': str(workspace.root), 'python': python}
    made |= {'lock 1': '-', 'lock 2': '-', **changes}
    (workspace.venv / '.soro_stamp.json').write_text(json.dumps(made))
    return environment


@pytest.fixture
def no_tools(monkeypatch):
    """Let nothing be made: what is removed would be gone."""
    monkeypatch.setattr(Environment, '_check_machine', lambda self: None)

    def refuse(*arguments, **options):
        raise SetupError('no network')

    monkeypatch.setattr(subprocess, 'run', refuse)


@pytest.mark.parametrize(
    'other', [{'world': 'installed:/opt/ros/jazzy'}, {'python': '3.12.3 /opt/conda'}]
)
def test_an_environment_of_another_shell_is_kept_and_named(workspace, no_tools, other):
    environment = finished(workspace, **other)
    (workspace.build_root / 'install').mkdir()
    with pytest.raises(SetupError, match='another kind of shell') as caught:
        environment.prepare()
    assert f'made with {next(iter(other.values()))}, this shell has' in str(caught.value)
    assert 'make distclean' in str(caught.value)
    assert workspace.venv.is_dir() and (workspace.build_root / 'install').is_dir()


def test_an_update_of_python_keeps_the_environment(workspace):
    (workspace.root / 'requirements').mkdir()
    for name in ('kilted', 'build', 'cmake', 'python'):
        (workspace.root / f'requirements/{name}.txt').touch()
    version = '{}.{}.99 {}'.format(*sys.version_info[:2], sys.base_prefix)
    assert finished(workspace, python=version).due() == ['Python packages']


@pytest.mark.parametrize('change', [{'root': '/elsewhere'}, {'world': 'x', 'lock 2': None}])
def test_what_was_copied_or_never_finished_is_made_anew(workspace, no_tools, change):
    environment = finished(workspace, **change)
    stamp = workspace.venv / '.soro_stamp.json'
    stamp.write_text(json.dumps({k: v for k, v in json.loads(stamp.read_text()).items() if v}))
    with pytest.raises(SetupError, match='no network'):
        environment.prepare()
    assert not workspace.venv.exists()


@pytest.mark.parametrize(
    'name',
    [
        'with blank',
        'tab\there',
        'caf\u00e9',
        '\u673a\u5668\u4eba',
        "it's",
        'a"b',
        'cash$HOME',
        'a;b',
        'a&b',
        'a(b)',
        'a:b',
        'a#b',
        'a*b',
        'a%b',
        'a\\b',
        'a`b`',
        '{a,b}',
        'new\nline',
        'bytes\udcff',
    ],
)
def test_a_path_that_tools_cannot_bear_is_refused_before_anything_is_made(tmp_path, name):
    scripts = tmp_path / name / 'scripts'
    scripts.mkdir(parents=True)
    for file in (ROOT / 'scripts').glob('*.py'):
        if file.name.startswith(('setup_', 'workspace_')):
            shutil.copy(file, scripts)
    shutil.copy(ROOT / 'Makefile', tmp_path / name)
    done = subprocess.run(
        ['make', '--no-print-directory', 'run', 'ROBOT=stiff_flop'],
        cwd=tmp_path / name,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 2
    assert 'set-up failed: the path of the workspace is' in done.stdout
    assert 'Traceback' not in done.stderr and 'move it to a path of letters' in done.stdout
    assert {p.name for p in (tmp_path / name).iterdir()} == {'scripts', 'Makefile'}


@pytest.mark.parametrize('name', ['plain', 'job@2', 'a+b-c_d.e', '~x'])
def test_other_paths_are_taken(name):
    check_place(Path('/home/me') / name)


def test_matplotlib_finds_its_own_toolkits_before_those_of_the_system(tmp_path):
    own, system = tmp_path / 'own', tmp_path / 'system'
    for folder in (own, system):
        (folder / 'mpl_toolkits').mkdir(parents=True)
        (folder / 'mpl_toolkits/whose.py').write_text(f'name = {folder.name!r}\n')
    # What Debian's package does.
    (system / 'matplotlib-nspkg.pth').write_text(
        "import sys, types; m = sys.modules.setdefault('mpl_toolkits', "
        "types.ModuleType('mpl_toolkits')); "
        f"m.__dict__.setdefault('__path__', []).append({str(system / 'mpl_toolkits')!r})\n"
    )
    prefer_own_toolkits(own)
    for order in ([own, system], [system, own]):
        add = ''.join(f'site.addsitedir({str(folder)!r}); ' for folder in order)
        code = f'import site; {add}import mpl_toolkits.whose as w; print(w.name)'
        done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True)
        assert done.stdout == 'own\n', done.stderr


@pytest.mark.parametrize('shell', [s for s in ('sh', 'bash', 'zsh') if shutil.which(s)])
def test_the_workspace_that_was_sourced_last_comes_first(tmp_path, shell):
    for name in ('a', 'b'):
        (tmp_path / name / 'scripts').mkdir(parents=True)
        shutil.copy(ROOT / 'scripts/env.sh', tmp_path / name / 'scripts')
        (tmp_path / name / 'install/soro_cli/lib/soro_cli').mkdir(parents=True)
    script = ''.join(
        f'SORO_WORKSPACE={tmp_path / name}; . {tmp_path / name}/scripts/env.sh; '
        for name in ('a', 'b', 'a')
    )
    variables = {'PATH': '/usr/bin:/bin'}  # Debian's zsh replaces the other order
    done = subprocess.run(
        [shell, '-c', script + 'printf "%s\\n" "$PATH" "$AMENT_PREFIX_PATH"'],
        env=variables,
        capture_output=True,
        text=True,
        check=True,
    )
    path, prefixes = (line.split(':') for line in done.stdout.splitlines())
    assert path[:2] == [f'{tmp_path}/a/scripts/bin', f'{tmp_path}/a/install/soro_cli/lib/soro_cli']
    assert prefixes[0] == f'{tmp_path}/a/install/soro_cli'
    assert len(set(path)) == len(path) == 8 and len(set(prefixes)) == len(prefixes) == 2


def test_uv_asks_the_index_that_pip_is_set_to(tmp_path, monkeypatch):
    for name in [name for name in os.environ if name.startswith('PIP_')]:
        monkeypatch.delenv(name)
    file = tmp_path / 'pip.conf'
    file.write_text(
        '[global]\nindex-url = https://a.example/simple\nextra-index-url = file:///b\n'
    )
    monkeypatch.setenv('PIP_CONFIG_FILE', str(file))
    environment = Environment(Workspace(ROOT, 'kilted'), print)
    assert environment._index_of_pip() == {'UV_DEFAULT_INDEX': 'https://a.example/simple'}
    file.write_text('[global]\nextra-index-url = file:///b\n')
    assert environment._index_of_pip() == {}


@pytest.mark.parametrize('owner', ['/opt/python/cp311-cp311', '/home/other/soro/.venv'])
def test_wheels_include_folders_are_this_environments_and_the_cache_keeps_its_own(owner, tmp_path):
    """uv hands out its cached files as hard links: they are shared by all environments."""
    dotted = '{}.{}'.format(*sys.version_info[:2])
    baked = f'  INCLUDES "{owner}/include/python{dotted};{owner}/lib/python{dotted}'
    baked += '/site-packages/numpy/_core/include"\n'
    cached, share = tmp_path / 'cached.cmake', tmp_path / 'share'
    cached.write_text(baked)
    share.mkdir()
    os.link(cached, share / 'export.cmake')
    mend_cmake_paths(share, '/here/numpy')
    own = f'{sysconfig.get_path("include")};/here/numpy'
    assert (share / 'export.cmake').read_text() == f'  INCLUDES "{own}"\n'
    assert cached.read_text() == baked


def test_links_to_deleted_sources_are_gone_before_a_build(workspace, monkeypatch):
    """What setup.py installs by a pattern is read from the links of the build before."""
    build, seen = Build(workspace, say_nothing), []
    link = build.build / 'soro_node/firmware/frame.c'
    link.parent.mkdir(parents=True)
    link.symlink_to(workspace.root / 'src/soro_node/firmware/frame.c')
    monkeypatch.setattr(build, '_colcon', lambda *arguments: seen.append(link.is_symlink()))
    with pytest.raises(SetupError):
        build.run({'soro_node': workspace.root / 'src/soro_node'})
    assert seen == [False]


def test_a_message_that_is_gone_leaves_no_code_behind(workspace, monkeypatch):
    build = Build(workspace, say_nothing)
    monkeypatch.setattr(build, '_colcon', lambda *arguments: None)
    source = workspace.root / 'src/soro_msgs'
    installed = build.install / 'soro_msgs/share/soro_msgs/msg'
    installed.mkdir(parents=True)
    (build.build / 'soro_msgs').mkdir(parents=True)
    for name, stays in (('Load.msg', True), ('Gone.msg', False)):
        (installed / name).write_text('float64 x')
        with pytest.raises(SetupError):
            build.run({'soro_msgs': source})
        assert installed.exists() == (build.build / 'soro_msgs').exists() == stays
