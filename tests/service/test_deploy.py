"""The files of deploy/, by the tools that read them, where those are installed."""

import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from tests.service.servers import Nginx, Running, require

from bestmix import open_storage

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"


def test_nginx_takes_its_configuration(tmp_path):
    require(shutil.which("nginx"), "nginx")
    done = Nginx(tmp_path, 8765, 8766).check()
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("http", ["1.1", "2"])
def test_calls_and_streams_go_through_nginx(tmp_path, http):
    require(shutil.which("nginx"), "nginx")
    require(shutil.which("curl"), "curl")
    with open_storage(tmp_path / "x.db") as storage:
        running = Running(storage, proxies="127.0.0.1")
        try:
            exp = running.create()
            with Nginx(tmp_path, running.port) as nginx:
                words = ["curl", "-sk", f"--http{http}", "-D", "-", "-H", f"Authorization: Bearer {running.token}"]
                place = f"{nginx.url}/v1/experiments/{exp.record.key}"
                asked = subprocess.run([*words, "--json", "{}", f"{place}/ask"], capture_output=True, text=True)
                assert f"HTTP/{http} 200" in asked.stdout
                began = time.monotonic()
                stream = subprocess.Popen([*words, "-N", f"{place}/stream?seconds=5"], stdout=subprocess.PIPE)
                while not stream.stdout.readline().startswith(b"event: state"):
                    assert time.monotonic() - began < 5  # it is not held back until the end
                stream.terminate()
                stream.communicate()
                token = ["--data-urlencode", f"token={running.token}", "-H", f"Origin: {nginx.url}"]
                entered = subprocess.run([*words, *token, f"{nginx.url}/login"], capture_output=True, text=True)
                assert f"__Host-bestmix-{nginx.port}=" in entered.stdout
        finally:
            running.stop()


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not installed")
def test_systemd_takes_the_unit(tmp_path):
    unit = tmp_path / "bestmix.service"
    unit.write_text((DEPLOY / "bestmix.service").read_text().replace("/opt/bestmix/bin/bestmix", "/bin/true"))
    done = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_image_is_made_of_what_is_there():
    text = (DEPLOY / "Dockerfile").read_text()
    for sources in re.findall(r"^COPY (.*) \S+$", text, re.M):
        assert all((ROOT / source).exists() for source in sources.split())
    assert "--require-hashes -r /source/deploy/requirements.lock" in text
    pinned = re.findall(r"^([\w-]+)==\S+ \\$", (DEPLOY / "requirements.lock").read_text(), re.M)
    assert {"fastapi", "psycopg", "pyarrow", "hatchling"} <= set(pinned)  # what the service and the build need
