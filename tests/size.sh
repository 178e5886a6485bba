#!/usr/bin/env bash
# Prints the size of a program as it is and as xz, and whether it is static: size.sh FILE
set -euo pipefail
# Mebibytes would flatter: these are millions of bytes, as the limits are.
million() { awk -v n="$1" 'BEGIN {printf "%.2f MB", n / 1e6}'; }
linked=static
! ldd "$1" 2>/dev/null | grep -q '=>' || linked=dynamic
echo "$1: $(million "$(stat -c %s "$1")"), as xz $(million "$(xz -9e -T0 -c "$1" | wc -c)"), $linked"
