"""Runs the gallery: each script's figure and printed lines go to a folder that the pages include."""

import os
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
FOLDER = HERE / "_generated"


def run(script: Path) -> str | None:
    """Run one script; what went wrong, if anything did."""
    env = os.environ | {"MPLBACKEND": "Agg", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run([sys.executable, script, FOLDER], capture_output=True, text=True, env=env)
    if done.returncode:
        return done.stderr
    (FOLDER / f"{script.stem}.txt").write_text(done.stdout, encoding="utf-8")
    missing = not (FOLDER / f"{script.stem}.png").is_file()
    return "it saved no figure of its name" if missing else None


def main() -> None:
    """Run all scripts, or those that are named."""
    FOLDER.mkdir(exist_ok=True)
    scripts = sorted([*HERE.glob("gallery/*.py"), *HERE.glob("explanation/*.py")])
    for script in scripts:
        start = time.monotonic()
        if sys.argv[1:] and script.stem not in sys.argv[1:]:
            continue
        print(f"gallery: {script.stem} ... ", end="", flush=True)
        problem = run(script)
        if problem:
            sys.exit(f"failed\n{problem}")
        print(f"{time.monotonic() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
