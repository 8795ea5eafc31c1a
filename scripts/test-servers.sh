#!/bin/sh
# Prints the folder with `redis-8` and `valkey-8`: the servers of Debian 13, for tests on Debian 12.
#
# apt downloads their packages and libraries from the mirrors that this machine is set up for, and they run by the loader of
# the C library of that release. Nothing is installed on the machine.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd -P)
kept=$root/.deno/test-servers-13
packages="valkey-server valkey-tools redis-server redis-tools libc6 libssl3t64 libsystemd0 libjemalloc2 liblzf1 liblua5.1-0
  lua-cjson lua-bitop libatomic1 libstdc++6 libgcc-s1 libcap2 libzstd1 zlib1g"

if [ ! -d "$kept" ]; then
  mkdir -p "$root/.deno"
  work=$(mktemp -d "$root/.deno/servers.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  trap 'exit 1' INT TERM HUP
  . /etc/os-release
  mkdir -p "$work/etc/sources.list.d" "$work/state/lists/partial" "$work/cache/archives/partial" "$work/debs"
  cp -r /etc/apt/apt.conf.d /etc/apt/trusted.gpg.d "$work/etc/"
  # A machine has Debian's mirrors in one of two files.
  for list in /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources; do
    [ ! -s "$list" ] || sed "s/$VERSION_CODENAME/trixie/g" "$list" > "$work/etc/${list#/etc/apt/}"
  done
  : > "$work/status"
  apt() {
    apt-get -qq -o Dir::Etc="$work/etc" -o Dir::State="$work/state" -o Dir::State::status="$work/status" \
      -o Dir::Cache="$work/cache" -o APT::Sandbox::User="$(id -un)" "$@" >&2
  }
  apt update
  (cd "$work/debs" && apt download $packages)
  mkdir "$work/made"
  for package in "$work"/debs/*.deb; do dpkg-deb -x "$package" "$work/made"; done
  lib=$(dirname "$(find "$work/made/usr/lib" -name 'libc.so.6')")
  lib=${lib#"$work/made/"}
  loader=$(basename "$(find "$work/made/usr/lib" -name 'ld-linux*' | head -n 1)")
  for name in redis valkey; do
    # Relative to the script: the folder may be moved, or reached by a link.
    printf '#!/bin/sh\nhere=${0%%/*}\nexec "$here/%s" --library-path "$here/%s" --argv0 %s-server "$here/%s" "$@"\n' \
      "$lib/$loader" "$lib" "$name" "usr/bin/$name-check-rdb" > "$work/made/$name-8"
    chmod 755 "$work/made/$name-8"
  done
  mv -T "$work/made" "$kept" || [ -d "$kept" ] # another process may have made it first
fi
echo "$kept"
