#!/usr/bin/env bash
# Prints the size of a program, plain and as xz, and fails if it exceeds the limits or is not static: size.sh FILE
set -euo pipefail
# Megabytes (millions of bytes), like the limits.
million() { awk -v n="$1" 'BEGIN {printf "%.2f MB", n / 1e6}'; }
limit=8700000 packed_limit=3100000
size=$(stat -c %s "$1") packed=$(xz --x86 --lzma2=preset=9e -T0 -c "$1" | wc -c)
linked=static
! ldd "$1" 2>/dev/null | grep -q '=>' || linked=dynamic
echo "$1: $(million "$size"), as xz $(million "$packed"), $linked"
if ((size > limit || packed > packed_limit)) || [ $linked = dynamic ]; then
  echo "it must be static, and at most $(million $limit) and $(million $packed_limit)" >&2
  exit 1
fi
