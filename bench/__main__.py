"""``python -m bench [PART ...] [--quick] [--runs N]``: measure, print tables, write bench/results."""

import argparse
import importlib
import time

from bench import timing

PARTS = (
    "lp",
    "segments",
    "segment_trials",
    "markov",
    "features",
    "scores",
    "startup",
    "install",
    "logs",
    "warehouse",
    "tells",
    "simulation",
    "gaps",
    "parallel",
    "reproduce",
    "challenger",
    "confidence",
    "robustness",
    "oracle",
    "deploy",
    "bayes",
    "margin",
    "refit",
    "uneven",
    "spend",
    "limit",
    "traffic",
    "courses",
    "rivals",
    "rare",
    "ahead",
    "items",
    "warm",
)
RUNS_GIVEN = (
    "deploy",
    "bayes",
    "margin",
    "refit",
    "uneven",
    "spend",
    "limit",
    "courses",
    "rivals",
    "rare",
    "ahead",
    "items",
    "warm",
)  # parts that take --runs


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all by default")
    parser.add_argument("--quick", action="store_true", help="a smoke run: small sizes, rough figures")
    parser.add_argument("--runs", type=int, metavar="N", help=f"runs of a cell of {', '.join(RUNS_GIVEN)}, at most")
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"expected parts of {', '.join(PARTS)}, got {', '.join(sorted(unknown))}")
    wrong = []
    for part in options.parts or PARTS:
        module = importlib.import_module(f"bench.{part}")
        start = time.perf_counter()
        figures = module.measure(options.quick, *([options.runs] if part in RUNS_GIVEN else []))
        timing.show(module.TITLE, figures)
        timing.save(part, time.perf_counter() - start, figures, options.quick)
        wrong += [f"{part}: {f.what}" for f in figures if f.verdict == "impossible"]
    if wrong:
        parser.exit(1, f"figures that cannot be true, so that the measurement is at fault: {'; '.join(wrong)}\n")


if __name__ == "__main__":
    main()
