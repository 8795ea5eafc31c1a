# `jobs` is also a builtin of the shell. This defines a function that runs /usr/bin/jobs for its commands, and the builtin
# otherwise.
if [ -x /usr/bin/jobs ]; then
  if [ -n "${BASH_VERSION-}" ]; then
    eval "$(/usr/bin/jobs shell-init bash 2>/dev/null)"
  elif [ -n "${ZSH_VERSION-}" ]; then
    eval "$(/usr/bin/jobs shell-init zsh 2>/dev/null)"
  else
    eval "$(/usr/bin/jobs shell-init sh 2>/dev/null)"
  fi
fi
