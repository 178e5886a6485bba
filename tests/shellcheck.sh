#!/usr/bin/env bash
# Looks through every shell script of the repository, where shellcheck is installed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
command -v shellcheck >/dev/null || { echo "shellcheck is not installed: scripts not looked through"; exit 0; }
git ls-files '*.sh' .ci/run | xargs shellcheck -x -P SCRIPTDIR
echo "shell scripts: looked through"
