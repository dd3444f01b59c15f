"""``python docs/picture_dashboard.py``: the picture of the dashboard, from a live experiment in a real browser.

It needs Chromium, which building the documentation does not; the picture is kept with the pages.
"""

import random
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from playwright.sync_api import sync_playwright

import bestmix as bm

PICTURE = Path(__file__).parent / "images" / "dashboard.png"
MEANS = {
    "small": (0.60, 1.0, 0.3),
    "medium": (0.72, 4.0, 0.7),
    "large": (0.90, 9.0, 1.6),
    "tuned": (0.66, 3.5, 0.9),
}
BUDGET, SHOWN = 2000, 1500  # trials of the experiment, and those made before the picture is taken


def work(url: str, token: str, worker: str) -> None:
    """Ask and tell, as a worker on another machine would, up to the moment of the picture."""
    rng = random.Random(worker)
    with bm.connect(url, token) as server:
        exp = server.open("router")
        while exp.state.complete < SHOWN:
            for trial in exp.ask(8, worker=worker):
                quality, dollars, seconds = (rng.gauss(mean, 0.25 * mean) for mean in MEANS[trial.arm])
                exp.tell(trial.id, quality, {"dollars": dollars, "seconds": seconds})


def main() -> None:
    """Run the experiment, and take its picture before it ends."""
    folder = tempfile.mkdtemp()
    storage = f"sqlite:///{folder}/router.db"
    problem = bm.Problem(list(MEANS), {"dollars": 5.0, "seconds": 1.2})
    with bm.open_storage(storage) as opened:
        opened.create("router", problem, BUDGET, bm.Challenger(), notes="Requests of the support team.")
    words = [sys.executable, "-c", "from bestmix.cli import main; main()", "serve", "--storage", storage, "--port", "0"]
    server = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert server.stdout is not None
    server.stdout.readline()
    address = server.stdout.readline().split()[-1]
    url, token = address.split("/login?token=")
    crew = [threading.Thread(target=work, args=(url, token, f"gpu-{k}")) for k in range(3)]
    for thread in crew:
        thread.start()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1100, "height": 1250})
        page.goto(address)
        page.get_by_role("link", name="router").click()
        for thread in crew:
            thread.join()
        page.wait_for_timeout(3000)
        page.screenshot(path=PICTURE)
        browser.close()
    server.terminate()
    server.wait()
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
