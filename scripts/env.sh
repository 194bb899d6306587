# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
#
# Use the built workspace in this shell:   source scripts/env.sh
# Sets paths by looking at install/; made for sh, bash and zsh.
# SORO_VENV, SORO_BUILD_ROOT: another environment and build folder (make test-jazzy uses them).

if [ -n "${BASH_SOURCE:-}" ]; then
  _soro_script="${BASH_SOURCE}"
elif [ -n "${ZSH_VERSION:-}" ]; then
  eval '_soro_script="${(%):-%x}"'
else
  _soro_script="${SORO_WORKSPACE:-$PWD}/scripts/env.sh"
fi
SORO_WORKSPACE="$(cd "$(dirname "$_soro_script")/.." && pwd)"
export SORO_WORKSPACE
_soro_venv="${SORO_VENV:-$SORO_WORKSPACE/.venv}"
_soro_root="${SORO_BUILD_ROOT:-$SORO_WORKSPACE}"

# Without a ROS installation the wheels in the environment are ROS; entries of another
# environment would mix two of them in one process.
if [ -e "$_soro_venv/share/rclpy/package.xml" ]; then
  unset _ROS_WHEELS_BOOTSTRAP_COMPLETE
  AMENT_PREFIX_PATH="$_soro_venv"
  CMAKE_PREFIX_PATH="$_soro_venv"
  PYTHONPATH=""
  LD_LIBRARY_PATH=""
fi

_soro_prepend() { # variable, entry: put in front, and take away where it was before
  eval "_soro_old=:\${$1:-}:"
  while :; do
    case "$_soro_old" in
      *":$2:"*) _soro_old="${_soro_old%%":$2:"*}:${_soro_old#*":$2:"}" ;;
      *) break ;;
    esac
  done
  _soro_old="${_soro_old#:}"
  _soro_old="${_soro_old%:}"
  eval "$1=\"$2\${_soro_old:+:\$_soro_old}\""
}

if [ -d "$_soro_root/install" ]; then
  _soro_libraries="$(find "$_soro_root/install" -mindepth 3 -maxdepth 3 -name 'lib*.so*')"
  for _soro_prefix in $(find "$_soro_root/install" -mindepth 1 -maxdepth 1 -type d | sort); do
    _soro_name="${_soro_prefix##*/}"
    _soro_prepend AMENT_PREFIX_PATH "$_soro_prefix"
    # Only these: a node loads a hundred libraries, each of which is looked for in every folder.
    case "$_soro_libraries" in
      *"$_soro_prefix/lib/"*) _soro_prepend LD_LIBRARY_PATH "$_soro_prefix/lib" ;;
    esac
    # --symlink-install leaves links to the sources of a Python package in its build folder, and in
    # its install folder nothing to import: every import would look there all the same.
    if [ -e "$_soro_root/build/$_soro_name/setup.py" ]; then
      _soro_prepend PYTHONPATH "$_soro_root/build/$_soro_name"
      continue
    fi
    for _soro_site in $(find "$_soro_prefix/lib" -mindepth 2 -maxdepth 2 -name '*-packages' 2>/dev/null); do
      _soro_prepend PYTHONPATH "$_soro_site"
    done
  done
fi
_soro_prepend PYTHONPATH "$SORO_WORKSPACE/studies" # not installed
_soro_prepend PATH "$_soro_venv/bin"
_soro_prepend PATH "$_soro_root/install/soro_cli/lib/soro_cli"
_soro_prepend PATH "$SORO_WORKSPACE/scripts/bin"
VIRTUAL_ENV="$_soro_venv"
export PATH AMENT_PREFIX_PATH CMAKE_PREFIX_PATH PYTHONPATH LD_LIBRARY_PATH VIRTUAL_ENV

# Keep compiled Python in the workspace: without it every node compiles the sources of SciPy and
# Numba anew at its start, which doubles the time until a robot is ready.
unset PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX="${PYTHONPYCACHEPREFIX:-$SORO_WORKSPACE/.cache/pycache}"

# Kernels are compiled before they are used here (make run, warm_up); only programs that use
# soro_mechanics alone begin with interpreted ones.
export SORO_KERNELS="${SORO_KERNELS:-compiled}"

# Keep ROS traffic on this machine unless the caller wants otherwise: soro_node/middleware.py says
# how, and does the same in every process of ours. Here for `ros2`, RViz and your own programs.
_soro_file="$SORO_WORKSPACE/src/soro_node/soro_node/middleware.py"
[ -e "$_soro_file" ] && eval "$(python3 -S "$_soro_file")"
unset _soro_script _soro_venv _soro_root _soro_libraries _soro_prefix _soro_name _soro_site _soro_old _soro_file
