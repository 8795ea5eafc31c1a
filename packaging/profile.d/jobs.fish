# `jobs` is also a function of fish. This runs /usr/bin/jobs for its commands, and fish's otherwise.
status is-interactive; and test -x /usr/bin/jobs; and /usr/bin/jobs shell-init fish 2>/dev/null | source
