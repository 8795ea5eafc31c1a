#!/bin/sh
# Makes sure that what the tests drive is installed: as root by apt-get, else it stops with one line that says what is
# missing. Nothing is skipped for want of it.
#
#   scripts/need.sh PACKAGE[:COMMAND]...   COMMAND tells whether PACKAGE is there; the same name when left out
set -eu

missing=
for need; do
  command -v "${need#*:}" >/dev/null || missing="$missing ${need%%:*}"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
  echo "The tests need$missing: install with \`sudo apt-get install$missing\` (or what your system has for it), then try again" >&2
  exit 1
fi
echo "Installing what the tests need:$missing" >&2
export DEBIAN_FRONTEND=noninteractive
apt="apt-get -qq -o DPkg::Lock::Timeout=300"
# shellcheck disable=SC2086 # the lists are meant to be split
{ $apt update && $apt install --yes --no-install-recommends $missing; } >&2 </dev/null || {
  echo "Cannot install$missing (see above): install them by hand, then try again" >&2
  exit 1
}
