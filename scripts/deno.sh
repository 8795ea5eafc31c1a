#!/bin/sh
# Prints the path of the Deno to use, and gets it first if need be: one on PATH that is new enough, else the pinned
# version from npm, kept in .deno/. It is always the real binary: npm's `deno` command can be a Node program around
# it, and signals do not reach through that.
#
#   scripts/deno.sh            the pinned version or later, below the next major; remembered in .deno/path for ./jobs
#   scripts/deno.sh --pinned   exactly the pinned version
#   scripts/deno.sh --lock     none of it: only the lock file, as the others keep it, too
set -eu

pinned=2.8.3
root=$(cd "$(dirname "$0")/.." && pwd -P)
kept=$root/.deno/deno-$pinned

fail() {
  echo "$1" >&2
  exit 1
}

# Asks a `deno`, whatever stands in front of it, for its version and its real path.
ask() {
  "$1" eval --no-config 'console.log(Deno.version.deno, Deno.execPath())' 2>/dev/null </dev/null
}

# Whether version $1 is the pinned one or later, with the same major number.
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

# The one on PATH, or nothing.
on_path() {
  command -v deno >/dev/null || return 0
  answer=$(ask deno) || return 0
  version=${answer%% *}
  if [ "$1" = --pinned ]; then
    [ "$version" = "$pinned" ] || return 0
  else
    new_enough "$version" || return 0
  fi
  echo "${answer#* }"
}

# Installs into a folder of this process's own and moves only the binary out of it: several at once cannot harm each
# other, and no node_modules stays behind for `deno compile` to embed.
install() {
  command -v npm >/dev/null ||
    fail "Deno $pinned or later (below 3) is needed: put \`deno\` on PATH, or install npm (Debian: apt-get install npm), which can fetch it"
  mkdir -p "$root/.deno" || fail "Cannot keep Deno in $root/.deno: make the folder writable, or put \`deno\` $pinned or later on PATH"
  echo "Getting Deno $pinned from npm (once)" >&2
  work=$(mktemp -d "$root/.deno/install.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  trap 'exit 1' INT TERM HUP
  npm install --prefix "$work" --no-save --no-package-lock --no-audit --no-fund --include=optional --loglevel=error \
    "deno@$pinned" >&2 || fail "Cannot get Deno $pinned from npm (see above): put \`deno\` $pinned or later on PATH instead"
  answer=$(ask "$work/node_modules/.bin/deno") ||
    fail "Deno $pinned from npm does not run on this machine ($(uname -sm)): put \`deno\` $pinned or later on PATH instead"
  mv -n "${answer#* }" "$kept" # another process may have been first; its binary is as good
}

# Remembers where Deno is, in one step. In a folder that is not ours to write there is nothing to remember.
remember() {
  [ -w "$root" ] && mkdir -p "$root/.deno" || return 0
  printf '%s\n' "$1" >"$root/.deno/path.$$" && mv "$root/.deno/path.$$" "$root/.deno/path"
}

# What a user's handlers import is not ours to lock: it goes into a copy of the lock file, which ./jobs and the processes
# that jobs start use. (Without any lock file, Deno reads the whole index of every package, which takes 35 MB and a second.)
keep_lock() {
  [ -e "$root/deno.lock" ] || return 0
  # Not every shell takes a file for newer than none.
  [ -e "$root/.deno/lock" ] && [ ! "$root/deno.lock" -nt "$root/.deno/lock" ] && return
  [ -w "$root" ] && mkdir -p "$root/.deno" || return 0
  # Where it cannot be copied (a full disk, somebody else's folder), what is there has to do.
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
