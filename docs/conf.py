# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The documentation as a site; `make docs` builds it with every warning an error.

The source folder is the workspace, so that the pages link each other as on a repository host.
Nothing here imports the library: its API reference is read from the sources.
"""

from __future__ import annotations

from pathlib import Path
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[1]
FRONT = 'README'
# The side bar, in this order. A page that stands nowhere here fails the build.
SECTIONS = {
    'Start': (
        'docs/README',
        'docs/five_minutes',
        'docs/platforms',
        'docs/troubleshooting',
        'docs/glossary',
    ),
    'Robots at work': (
        'docs/cli',
        'docs/launch',
        'docs/viewer',
        'docs/recording',
        'docs/security',
    ),
    'Robots described': ('docs/describe_your_own_robot', 'docs/robot_file*', 'docs/network'),
    'The robots': ('docs/robots/*',),
    'Models': ('docs/models/*',),
    'Nodes and messages': (
        'docs/interfaces',
        'docs/messages',
        'docs/own_controller',
        'docs/nodes/*',
    ),
    'Hardware': ('docs/hardware', 'docs/hardware/*'),
    'Library': ('docs/api/soro_mechanics/index',),
    'Evidence': ('docs/evidence/*',),
    'The project': ('docs/architecture', 'CONTRIBUTING', 'CHANGELOG', 'docs/references'),
}
LINK = re.compile(r'(?<!!)\[([^]\n]+)\]\((?!\w+:|#)([^)#\s]+)(?:#[^)\s]*)?\)')

project = 'soro'
author = 'soro contributors'
copyright = f'2026, {author}'
root_doc = FRONT
include_patterns = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'docs/**']
exclude_patterns = ['src', 'studies', 'build', 'install', 'log', 'out', '.*', 'docs/img']
source_suffix = {'.md': 'markdown', '.rst': 'restructuredtext'}
extensions = ['myst_parser', 'sphinx.ext.napoleon', 'autoapi.extension']

html_theme = 'furo'
html_title = 'soro'
html_copy_source = False
html_show_sourcelink = False

myst_heading_anchors = 4  # the names that repository hosts give to headings

default_role = 'code'
napoleon_google_docstring = False
napoleon_use_ivar = True
autoapi_dirs = [str(ROOT / 'src/soro_mechanics/soro_mechanics')]
autoapi_root = 'docs/api'
autoapi_add_toctree_entry = False
autoapi_options = ['members', 'show-module-summary']
autoapi_ignore = ['*kernels*', '*/old_names.py']
suppress_warnings = [
    'autoapi.python_import_resolution',  # of the kernels, which are left out
    'ref.python',  # a word of a type, `shape` say, that is an attribute of two classes too
]


def finish_page(app: Sphinx, name: str, source: list[str]) -> None:
    """Give the front page the side bar; say the paths of what is linked but not on the site."""
    folder = (ROOT / name).parent

    def outside(found: re.Match[str]) -> str:
        path = (folder / found[2]).resolve()
        inside = not path.is_relative_to(ROOT) or not path.exists()  # Sphinx says what is wrong
        if inside or path.is_file() and path.relative_to(ROOT).parts[0] == 'docs':
            return found[0]
        if path.relative_to(ROOT).with_suffix('').as_posix() in app.env.found_docs:
            return found[0]
        return f'{found[1]} (`{path.relative_to(ROOT).as_posix()}`)'

    if not name.startswith(autoapi_root):
        source[0] = LINK.sub(outside, source[0])
    if name == FRONT:
        for caption, pages in SECTIONS.items():
            listed = '\n'.join(pages)
            source[0] += (
                f'\n```{{toctree}}\n:hidden:\n:glob:\n:caption: {caption}\n\n{listed}\n```\n'
            )


def setup(app: Sphinx) -> None:
    """Connect what changes pages while they are read."""
    app.connect('source-read', finish_page)
