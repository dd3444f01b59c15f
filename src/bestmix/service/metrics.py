"""Counts and times in the text format that Prometheus reads."""

import resource
import sys
import threading
import time
from bisect import bisect_left
from collections import defaultdict

STEPS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)  # seconds


class Metrics:
    """What this server did since it started."""

    def __init__(self) -> None:
        self._began = time.time()
        self._lock = threading.Lock()
        self._requests: dict[tuple[str, str, int], int] = defaultdict(int)
        self._times: dict[str, list[int]] = defaultdict(lambda: [0] * (len(STEPS) + 1))
        self._seconds: dict[str, float] = defaultdict(float)

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """Add a request."""
        with self._lock:
            self._requests[method, route, status] += 1
            self._times[route][bisect_left(STEPS, seconds)] += 1
            self._seconds[route] += seconds

    def text(self, statuses: dict[str, int], streams: int = 0) -> str:
        """All of it; ``statuses`` are the numbers of experiments by status, ``streams`` those that are open.

        >>> metrics = Metrics()
        >>> metrics.count("GET", "/healthz", 200, 0.002)
        >>> 'bestmix_requests_total{method="GET",route="/healthz",status="200"} 1' in metrics.text({})
        True
        """
        lines = _head("bestmix_requests_total", "counter", "Requests answered.")
        with self._lock:
            for (method, route, status), n in sorted(self._requests.items()):
                labels = f'method="{_quoted(method)}",route="{_quoted(route)}",status="{status}"'
                lines.append(f"bestmix_requests_total{{{labels}}} {n}")
            lines += _head("bestmix_request_seconds", "histogram", "Time to answer.")
            for route in sorted(self._times):
                lines += _histogram(route, self._times[route], self._seconds[route])
        lines += _head("bestmix_experiments", "gauge", "Experiments by status.")
        lines += [f'bestmix_experiments{{status="{status}"}} {n}' for status, n in sorted(statuses.items())]
        gauges = {
            "bestmix_streams": ("Streams of events that are open.", streams),
            "process_start_time_seconds": ("When the server started.", self._began),
            "process_resident_memory_bytes": ("Memory in use.", memory()),
        }
        for name, (words, value) in gauges.items():
            lines += [*_head(name, "gauge", words), f"{name} {value}"]
        return "\n".join(lines) + "\n"


def memory() -> int:
    """Bytes of this process that are in memory; the most there ever were where the system does not tell."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _histogram(route: str, counts: list[int], seconds: float) -> list[str]:
    lines, total, label = [], 0, f'route="{_quoted(route)}"'
    for step, n in zip([*map(str, STEPS), "+Inf"], counts, strict=True):
        total += n
        lines.append(f'bestmix_request_seconds_bucket{{{label},le="{step}"}} {total}')
    lines.append(f"bestmix_request_seconds_sum{{{label}}} {seconds}")
    return [*lines, f"bestmix_request_seconds_count{{{label}}} {total}"]


def _head(name: str, kind: str, words: str) -> list[str]:
    return [f"# HELP {name} {words}", f"# TYPE {name} {kind}"]


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
