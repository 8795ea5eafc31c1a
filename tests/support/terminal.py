"""Starts a worker on a terminal of its own, sends it HUP, closes the terminal, and prints what the worker did.

    terminal.py LOG COMMAND ...
"""
import os
import pty
import signal
import sys
import time

log, command = sys.argv[1], sys.argv[2:]


def until(is_so):
    deadline = time.monotonic() + 60
    while not is_so():
        if time.monotonic() > deadline:
            sys.exit("timed out")
        time.sleep(0.02)


def count(text):
    try:
        with open(log) as file:
            return file.read().count(text)
    except FileNotFoundError:
        return 0


pid, terminal = pty.fork()
if pid == 0:
    os.execvp(command[0], command)
until(lambda: count('"msg":"Ready"') == 1)
os.kill(pid, signal.SIGHUP)
until(lambda: count('"msg":"Configuration applied"') == 1)
print("reloaded, then ", end="")
os.close(terminal)
if command[0] == "nohup":
    # The kernel sends HUP at the close; it may have come before this one.
    os.kill(pid, signal.SIGHUP)
    until(lambda: count('"msg":"Configuration applied"') >= 2)
    os.kill(pid, signal.SIGKILL)
    print("reloaded")
else:
    _, status = os.waitpid(pid, 0)
    print("stopped with", os.waitstatus_to_exitcode(status))
