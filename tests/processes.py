"""Child processes that answer to signals as those of a terminal do."""

import subprocess
import sys

# A shell that ignores SIGINT or SIGHUP, as ``nohup make test &`` does, hands that down to all its children.
_DEFAULTS = """
import os, signal, sys
for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
    signal.signal(number, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])
"""


def start_python(script, *words, **options):
    """A Python process with that script, its signals at their defaults."""
    line = [sys.executable, "-S", "-E", "-c", _DEFAULTS, sys.executable, "-c", script, *map(str, words)]
    return subprocess.Popen(line, **options)


def start_bestmix(*words, **options):
    """The real command in a process of its own; what it writes is text."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return start_python("from bestmix.cli import main; main()", *words, **pipes, **options)
