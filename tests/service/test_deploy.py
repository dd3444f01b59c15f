"""The files of deploy/, by the tools that read them, where those are installed."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"


@pytest.mark.skipif(not shutil.which("nginx"), reason="nginx is not installed")
def test_nginx_takes_its_configuration(tmp_path):
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=bestmix.example"]
    subprocess.run([*words, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    text = (DEPLOY / "nginx.conf").read_text()
    for there, here in {
        "/etc/ssl/bestmix.pem": certificate,
        "/etc/ssl/bestmix.key": key,
        "/var/log/nginx/bestmix.log": tmp_path / "access.log",
    }.items():
        assert there in text
        text = text.replace(there, str(here))
    (tmp_path / "site.conf").write_text(text)
    whole = (
        f"pid {tmp_path}/pid;\nerror_log {tmp_path}/error.log;\nevents {{}}\nhttp {{ include {tmp_path}/site.conf; }}\n"
    )
    (tmp_path / "nginx.conf").write_text(whole)
    done = subprocess.run(["nginx", "-t", "-c", tmp_path / "nginx.conf"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


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
    extras = re.search(r"/source\[([\w,]+)\]", text)[1].split(",")
    declared = re.findall(r"^(\w+) = \[", (ROOT / "pyproject.toml").read_text(), re.M)
    assert set(extras) <= set(declared)
