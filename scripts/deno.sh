#!/bin/sh
# Prints the path of the Deno to use: one on PATH that is new enough, else the pinned version, which it installs from npm
# into .deno/. The path is that of the real binary: npm's `deno` command can be a Node program, which doesn't pass on
# signals.
#
#   scripts/deno.sh            the pinned version or later, below the next major; remembered in .deno/path for ./jobs
#   scripts/deno.sh --pinned   exactly the pinned version
#   scripts/deno.sh --lock     only copies the lock file, which the other forms do, too
set -eu

pinned=2.8.3
root=$(cd "$(dirname "$0")/.." && pwd -P)
kept=$root/.deno/deno-$pinned

fail() {
  echo "$1" >&2
  exit 1
}

# Prints the version and the real path of a `deno`, which may be a wrapper.
inspect() {
  "$1" eval --no-config 'console.log(Deno.version.deno, Deno.execPath())' 2>/dev/null </dev/null
}

# Succeeds if version $1 is the pinned one or later, with the same major number.
new_enough() {
  IFS=.- read -r major minor patch _ <<END
$1
END
  IFS=. read -r want_major want_minor want_patch <<END
$pinned
END
  [ "$major" -eq "$want_major" ] &&
    { [ "$minor" -gt "$want_minor" ] || { [ "$minor" -eq "$want_minor" ] && [ "$patch" -ge "$want_patch" ]; }; }
}

# Prints the path of a usable `deno` on PATH, or nothing.
on_path() {
  command -v deno >/dev/null || return 0
  answer=$(inspect deno) || return 0
  version=${answer%% *}
  if [ "$1" = --pinned ]; then
    [ "$version" = "$pinned" ] || return 0
  else
    new_enough "$version" || return 0
  fi
  echo "${answer#* }"
}

# Installs into a temporary folder and moves only the binary out of it. Concurrent installations don't interfere, and no
# node_modules is left for `deno compile` to embed.
install() {
  command -v npm >/dev/null ||
    fail "Deno $pinned or later (below 3) is needed: put \`deno\` on PATH, or install npm (Debian: apt-get install npm), which can fetch it"
  mkdir -p "$root/.deno" || fail "Can't keep Deno in $root/.deno: make the folder writable, or put \`deno\` $pinned or later on PATH"
  echo "Getting Deno $pinned from npm (once)" >&2
  work=$(mktemp -d "$root/.deno/install.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  trap 'exit 1' INT TERM HUP
  npm install --prefix "$work" --no-save --no-package-lock --no-audit --no-fund --include=optional --loglevel=error \
    "deno@$pinned" >&2 || fail "Can't get Deno $pinned from npm (see above): put \`deno\` $pinned or later on PATH instead"
  answer=$(inspect "$work/node_modules/.bin/deno") ||
    fail "Deno $pinned from npm does not run on this machine ($(uname -sm)): put \`deno\` $pinned or later on PATH instead"
  mv -n "${answer#* }" "$kept" # another process may have installed the same binary first
}

# Stores the path for ./jobs, atomically. Does nothing if the folder isn't writable.
remember() {
  [ -w "$root" ] && mkdir -p "$root/.deno" || return 0
  printf '%s\n' "$1" >"$root/.deno/path.$$" && mv "$root/.deno/path.$$" "$root/.deno/path"
}

# Packages that a user's handlers import must not change deno.lock. They go into a copy of it, which ./jobs and the
# processes that it starts use. (Without a lock file, Deno reads the index of every package: 35 MB and a second.)
keep_lock() {
  [ -e "$root/deno.lock" ] || return 0
  # In some shells, -nt is false if the second file doesn't exist.
  [ -e "$root/.deno/lock" ] && [ ! "$root/deno.lock" -nt "$root/.deno/lock" ] && return
  [ -w "$root" ] && mkdir -p "$root/.deno" || return 0
  # If it can't be copied (full disk, another user's folder), the existing copy is used.
  cp "$root/deno.lock" "$root/.deno/lock.$$" && mv "$root/.deno/lock.$$" "$root/.deno/lock" || rm -f "$root/.deno/lock.$$"
}

keep_lock
[ "${1-}" = --lock ] && exit
deno=$(on_path "${1-}")
if [ -z "$deno" ]; then
  [ -x "$kept" ] || install
  deno=$kept
fi
[ "${1-}" = --pinned ] || remember "$deno"
echo "$deno"
