"""Starts a program on a new terminal, types a line after each text that it waits for, and prints all that the terminal showed.

    typist.py PROMPT LINE PROMPT LINE ... -- COMMAND ...
"""
import os
import pty
import sys

at = sys.argv.index("--")
typed, command = sys.argv[1:at], sys.argv[at + 1:]
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(command[0], command)
shown = b""


def read():
    global shown
    try:
        part = os.read(terminal, 4096)
    except OSError:
        part = b""
    shown += part
    return part != b""


for prompt, line in zip(typed[::2], typed[1::2]):
    while prompt.encode() not in shown:
        if not read():
            sys.exit(f"ended before {prompt}: {shown}")
    os.write(terminal, line.encode())
while read():
    pass
_, status = os.waitpid(pid, 0)
sys.stdout.buffer.write(shown)
sys.exit(os.waitstatus_to_exitcode(status))
