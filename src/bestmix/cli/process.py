"""Trials as processes: each prints its reward and costs as a line of JSON."""

import json
import os
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bestmix.problems.problem import Problem

Result = tuple[float, dict[str, float]]

GRACE = 2.0  # seconds that a process has to end by itself when asked to
EXAMPLE = '{"reward": 0.7, "costs": {"dollars": 0.1}}'


class BadTrial(Exception):
    """One attempt that gave no result: why, and what the process wrote."""

    def __init__(self, reason: str, written: str = "") -> None:
        super().__init__(reason)
        self.written = written


class TrialFailed(RuntimeError):
    """A trial that failed at every attempt."""

    def __init__(self, message: str, written: str) -> None:
        super().__init__(message)
        self.written = written


class Trials:
    """Runs the command for an arm, any number at once, and ends what is under way when stopped."""

    def __init__(self, command: str, problem: "Problem", retries: int = 0, timeout: float | None = None) -> None:
        self.words = parse_command(command)
        self.problem = problem
        self.retries = retries
        self.timeout = timeout
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[str]] = set()
        self._stopped = False

    def __call__(self, arm: str) -> Result:
        """Reward and costs of one trial; tries again when an attempt fails."""
        for attempt in range(self.retries + 1):
            try:
                return self._attempt(arm)
            except BadTrial as bad:
                if attempt == self.retries or self._stopped:
                    times = "once" if attempt == 0 else f"{attempt + 1} times, the last time"
                    raise TrialFailed(f"a trial of {arm!r} failed {times}: {bad}", bad.written) from None
        raise AssertionError("unreachable")

    def stop(self) -> None:
        """End all processes under way and start no more."""
        with self._lock:
            self._stopped = True
            running = list(self._running)
        end(running)

    def _attempt(self, arm: str) -> Result:
        process = self._start(arm)
        try:
            out, err = process.communicate(timeout=self.timeout)
        except subprocess.TimeoutExpired:
            end([process])
            raise BadTrial(f"it took longer than {self.timeout:g} s", _rest(process)) from None
        finally:
            with self._lock:
                self._running.discard(process)
        written = _joined(out, err)
        if process.returncode:
            raise BadTrial(_ending(process.returncode), written)
        try:
            return parse_result(out, self.problem)
        except ValueError as error:
            raise BadTrial(str(error), written) from None

    def _start(self, arm: str) -> subprocess.Popen[str]:
        words = [word.replace("{arm}", arm) for word in self.words]
        with self._lock:  # so that stop() sees every process that was started
            if self._stopped:
                raise BadTrial("the run was stopped")
            process = launch(words)
            self._running.add(process)
        return process


def launch(words: list[str]) -> subprocess.Popen[str]:
    """Start a process in a session of its own: Ctrl-C reaches us alone, and we end it with its children."""
    try:
        return subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise RuntimeError(f"--exec: cannot start {words[0]!r}, {why}; check the command") from None


def parse_command(command: str) -> list[str]:
    """The words of a command that names the arm.

    >>> parse_command("./trial.sh --arm={arm} 'two words'")
    ['./trial.sh', '--arm={arm}', 'two words']
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ValueError(f"--exec: {str(error).lower()} in {command!r}; close the quotation") from None
    if not any("{arm}" in word for word in words):
        raise ValueError(f"--exec: expected {{arm}} where the arm's name goes, got {command!r}; add it")
    return words


def parse_result(text: str, problem: "Problem") -> Result:
    """Reward and costs from the last line that a trial printed."""
    from bestmix import checks

    lines = text.strip().splitlines()
    if not lines:
        raise ValueError(f"expected a line such as {EXAMPLE}, got no output")
    try:
        data = json.loads(lines[-1])
    except ValueError:
        data = None
    if not isinstance(data, dict) or "reward" not in data:
        raise ValueError(f"expected a last line such as {EXAMPLE}, got {checks.shown(lines[-1])}")
    costs: Mapping[str, Any] = checks.mapping("costs", data.get("costs", data), "by name")
    missing = [cost for cost in problem.costs if cost not in costs]
    if missing:
        raise ValueError(f"expected the cost {missing[0]!r} in the last line, got {checks.shown(lines[-1])}")
    values = {cost: checks.number(f"cost {cost!r}", costs[cost]) for cost in problem.costs}
    return checks.number("reward", data["reward"]), values


def end(processes: list[subprocess.Popen[str]]) -> None:
    """Ask processes and their children to end; after a while, make them."""
    for process in processes:
        _signal(process, signal.SIGTERM)
    limit = time.monotonic() + GRACE
    for process in processes:
        with suppress(subprocess.TimeoutExpired):
            process.wait(max(limit - time.monotonic(), 0.0))
        _signal(process, signal.SIGKILL)


def _signal(process: subprocess.Popen[str], number: int) -> None:
    """Send a signal to the process's group, whose number is that of its first process."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _rest(process: subprocess.Popen[str]) -> str:
    """What an ended process has written; gives up if a child that fled holds its output open."""
    try:
        return _joined(*process.communicate(timeout=GRACE))
    except subprocess.TimeoutExpired:
        for pipe in filter(None, (process.stdout, process.stderr)):
            pipe.close()
        return ""


def _joined(*texts: str) -> str:
    return "\n".join(text.strip() for text in texts if text.strip())


def _ending(code: int) -> str:
    return f"it ended with exit code {code}" if code > 0 else f"it was ended by signal {-code}"
