# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""soro completion: have the shell complete verbs, options, robots and files."""

from __future__ import annotations

import argparse
import sys

from soro_cli.verbs.haptics import ENVIRONMENTS
from soro_node.user_errors import UserError

SUMMARY = 'print what makes bash, zsh or fish complete soro by tab'
EPILOG = """\
examples:
  eval "$(soro completion bash)"          in ~/.bashrc
  eval "$(soro completion zsh)"           in ~/.zshrc, behind compinit
  soro completion fish | source           in ~/.config/fish/config.fish
"""
# Each sends the words to `soro completion --words` and completes files where it says nothing.
SCRIPTS = {
    'bash': """\
_soro() {
  local word; COMPREPLY=()
  while IFS= read -r word; do COMPREPLY+=("$(printf %q "$word")"); done < <(
    printf '%s\\n' "${COMP_WORDS[@]:1:COMP_CWORD}" | soro completion --words 2>/dev/null)
}
complete -o default -F _soro soro
""",
    'zsh': """\
_soro() {
  local -a found
  found=(${(f)"$(print -rl -- "${(@)words[2,CURRENT]}" | soro completion --words 2>/dev/null)"})
  if (( $#found )); then compadd -a found; else _files; fi
}
compdef _soro soro
""",
    'fish': """\
function _soro
  set -l typed (commandline -opc)[2..] (commandline -ct)
  set -l found (printf '%s\\n' $typed | soro completion --words 2>/dev/null)
  string length -q -- $found; and printf '%s\\n' $found; or __fish_complete_path (commandline -ct)
end
complete -c soro -f -a '(_soro)'
""",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument('shell', nargs='?', choices=tuple(SCRIPTS))
    parser.add_argument('--words', action='store_true', help='for the script, which sends them')


def run(arguments: argparse.Namespace) -> int:
    """Run the verb."""
    if arguments.words:  # lines: of arguments argparse would take `--` away
        print('\n'.join(candidates(sys.stdin.read().split('\n')[:-1])))
        return 0
    if arguments.shell is None:
        raise UserError(f'write the shell: {", ".join(SCRIPTS)}', 2)
    print(SCRIPTS[arguments.shell], end='')
    return 0


def candidates(words: list[str]) -> list[str]:
    """Return what may stand in the place of the last word; nothing: a file, or a value."""
    from soro_cli.main import verb_parser, verbs

    *before, begun = words or ['']
    known = verbs()
    if not before:
        return sorted(name for name in known if name.startswith(begun))
    if before[0] not in known:
        return []
    parser = verb_parser(before[0], known[before[0]])
    options = {word: action for action in parser._actions for word in action.option_strings}
    if begun.startswith('-'):
        return sorted(word for word in options if word.startswith(begun))
    last = options.get(before[-1])
    places = [a for a in parser._actions if not a.option_strings]
    action = last if last is not None and last.nargs != 0 else (places[0] if places else None)
    if action is None:
        return []
    choices = ENVIRONMENTS if action.dest == 'environment' else action.choices
    found = [str(choice) for choice in choices or ()]
    if not found and action.dest in ('robot', 'target'):
        from soro_mechanics.robot_file.catalogue import robot_files

        found = list(robot_files())
    return sorted(name for name in found if name.startswith(begun))
