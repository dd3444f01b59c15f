"""The shell lines of the documentation's pages about the service, as a reader would type them."""

import os
import re
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.service.servers import require

DOCS = Path(__file__).resolve().parents[2] / "docs"
FENCE = re.compile(r"^```(?P<head>[^\n]*)\n(?P<body>.*?)^```$", re.M | re.S)
FILE = re.compile(r"\{code-block\}.*\n:caption: (?P<name>\S+)\n\n(?P<text>.*)", re.S)


@pytest.mark.parametrize("page", ["tutorials/dashboard.md", "service.md"])
def test_the_lines_of_a_page_run(page, tmp_path):
    require(shutil.which("curl") is not None, "curl")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    lines = []
    for source in dict.fromkeys(("tutorials/dashboard.md", page)):  # whose files the other page uses
        for found in FENCE.finditer((DOCS / source).read_text()):
            if file := FILE.match(f"{found['head']}\n{found['body']}"):
                text = file["text"].replace("8765", str(port)).replace("time.sleep(0.2)", "")
                (tmp_path / file["name"]).write_text(text)
            elif found["head"] == "shell" and source == page:
                lines += found["body"].replace("8765", str(port)).splitlines()
    (serve,) = [k for k, line in enumerate(lines) if line.startswith("bestmix serve")]
    folder = Path(sys.executable).parent
    environment = {name: value for name, value in os.environ.items() if name != "BESTMIX_TOKEN"}
    environment["PATH"] = f"{folder}:{environment['PATH']}"
    options = {"cwd": tmp_path, "env": environment, "text": True}
    subprocess.run(["bash", "-ec", "\n".join(lines[:serve])], check=True, **options)
    command = f"exec {lines[serve]} --port {port} --no-warm-up"
    server = subprocess.Popen(["bash", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, **options)
    try:
        assert f"at http://127.0.0.1:{port}" in server.stdout.readline()
        wait_for(port)
        rest = "\n".join(["set -o pipefail", *lines[serve + 1 :]])
        done = subprocess.run(["bash", "-ec", rest], capture_output=True, timeout=240, **options)
        assert done.returncode == 0, done.stdout + done.stderr
    finally:
        server.terminate()
        server.communicate(timeout=40)
    assert "is done" in done.stdout + done.stderr
    assert (tmp_path / "report.html").stat().st_size > 10_000
    if page == "service.md":
        assert '{"outcome":"counted"}' in done.stdout
        assert '"mixture":{' in done.stdout


def wait_for(port):
    """Until the server listens."""
    for _ in range(200):
        with socket.socket() as attempt:
            if attempt.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError("the server does not listen")
