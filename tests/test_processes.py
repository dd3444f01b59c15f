import signal
import subprocess

from tests.processes import start_python

SHOW = "import signal; print([signal.getsignal(n) == signal.SIG_IGN for n in (signal.SIGINT, signal.SIGHUP)])"


def test_a_child_does_not_inherit_ignored_signals():
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGHUP)}
    try:
        child = start_python(SHOW, stdout=subprocess.PIPE, text=True)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    assert child.communicate(timeout=20)[0] == "[False, False]\n"
