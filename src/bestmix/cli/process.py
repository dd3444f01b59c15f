"""Trials as processes: each prints its metrics as a line of JSON."""

import json
import os
import re
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bestmix.problems.problem import Problem

Result = tuple[float, dict[str, float]]

GRACE = 2.0  # seconds that a process has to end by itself when asked to


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
    """Runs the command for an arm (in a segment, on an item), any number at once, and ends them when stopped.

    It is called with the arm, with segments the segment, and with items the item.
    """

    def __init__(
        self,
        command: str,
        problem: "Problem",
        retries: int = 0,
        timeout: float | None = None,
        items: bool = False,
    ) -> None:
        self.places = ("arm", *(("segment",) if problem.segments else ()), *(("item",) if items else ()))
        self.words = parse_command(command, self.places)
        self.problem = problem
        self.retries = retries
        self.timeout = timeout
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[str]] = set()
        self._stopped = False

    def __call__(self, *cell: str | int) -> Result:
        """Metrics of one trial, the goal's first; tries again when an attempt fails."""
        names = dict(zip(self.places, map(str, cell), strict=True))
        for attempt in range(self.retries + 1):
            try:
                return self._attempt(names)
            except BadTrial as bad:
                if attempt == self.retries or self._stopped:
                    times = "once" if attempt == 0 else f"{attempt + 1} times, the last time"
                    raise TrialFailed(f"a trial of {_called(names)} failed {times}: {bad}", bad.written) from None
        raise AssertionError("unreachable")

    def stop(self) -> None:
        """End all processes under way and start no more."""
        with self._lock:
            self._stopped = True
            running = list(self._running)
        end(running)

    def _attempt(self, names: Mapping[str, str]) -> Result:
        process = self._start(names)
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

    def _start(self, names: Mapping[str, str]) -> subprocess.Popen[str]:
        words = [fill(word, names) for word in self.words]
        with self._lock:  # so that stop() sees every process that was started
            if self._stopped:
                raise BadTrial("the run was stopped")
            process = launch(words)
            self._running.add(process)
        return process


def _called(names: Mapping[str, str]) -> str:
    """What a trial is of, in words."""
    from bestmix.checks import shown

    said = repr(names["arm"]) + (f" in {names['segment']!r}" if "segment" in names else "")
    return said + (f" on {shown(names['item'])}" if "item" in names else "")


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


def fill(word: str, names: Mapping[str, str]) -> str:
    """A word of a command with names in their places; a name that looks like a place is left as it is.

    >>> fill("--for={segment}/{arm}", {"arm": "{segment}", "segment": "free"})
    '--for=free/{segment}'
    """
    return re.sub(r"\{(\w+)\}", lambda found: names.get(found[1], found[0]), word)


def parse_command(command: str, places: Sequence[str] = ("arm",)) -> list[str]:
    """The words of a command that names the arm, and where there are any, the segment and the item.

    >>> parse_command("./trial.sh --arm={arm} 'two words'")
    ['./trial.sh', '--arm={arm}', 'two words']
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ValueError(f"--exec: {str(error).lower()} in {command!r}; close the quotation") from None
    for name in places:
        if not any(f"{{{name}}}" in word for word in words):
            raise ValueError(f"--exec: expected {{{name}}} where the {name}'s name goes, got {command!r}; add it")
    for name in ("segment", "item"):
        if name not in places and any(f"{{{name}}}" in word for word in words):
            raise ValueError(f"--exec: {{{name}}} in {command!r}, but there are no {name}s; give some, or take it out")
    return words


def parse_result(text: str, problem: "Problem") -> Result:
    """Metrics from the last line that a trial printed: by name, or a reward with costs by name."""
    from bestmix import checks
    from bestmix.files import Repeated, loads

    lines, first = text.strip().splitlines(), problem.metrics[0]
    if not lines:
        raise ValueError(f"expected a line such as {example(problem)}, got no output")
    try:
        data = loads(lines[-1])
    except Repeated as error:
        raise ValueError(f"in the last line {error}") from None
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        raise ValueError(f"expected a last line such as {example(problem)}, got {checks.shown(lines[-1])}")
    metrics = dict(data)
    if "costs" not in problem.metrics and "costs" in data:
        metrics |= checks.mapping("costs", metrics.pop("costs"), "by name")
    metrics.setdefault(first, metrics.get("reward"))
    if metrics[first] is None:
        raise ValueError(f"expected a last line such as {example(problem)}, got {checks.shown(lines[-1])}")
    if missing := [metric for metric in problem.metrics[1:] if metric not in metrics]:
        raise ValueError(f"expected the metric {missing[0]!r} in the last line, got {checks.shown(lines[-1])}")
    values = {metric: problem.value(metric, metrics[metric], f"metric {metric!r}") for metric in problem.metrics}
    return values.pop(first), values


def example(problem: "Problem") -> str:
    """A line that a trial could print.

    >>> from bestmix import Problem
    >>> example(Problem(["a"], goal="minimise dollars", limits=["quality >= 0.9"]))
    '{"dollars": 0.7, "quality": 0.1}'
    """
    first, *rest = problem.metrics
    others = {metric: problem.shown_value(metric, 0.1) for metric in rest}
    return json.dumps({first: 0.7, **others}, ensure_ascii=False)


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
