#!/usr/bin/env bash
# Checks every shell script of the repository if shellcheck is installed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
command -v shellcheck >/dev/null || { echo "skipped the check of shell scripts: shellcheck is not installed"; exit 0; }
git ls-files '*.sh' .ci/run 'packaging/deb/p*' | xargs shellcheck -x -P SCRIPTDIR
echo "shell scripts: no findings"
