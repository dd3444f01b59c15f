"""What is an address and what is not is tested where one is asked for: ``connect`` and ``Edge``."""

import subprocess
import sys

import pytest

from bestmix.client.address import parse_address


def test_an_address_has_its_parts():
    found = parse_address("http://mixes.example")
    assert found == (False, "mixes.example", None, "", "http://mixes.example")


@pytest.mark.parametrize("url", ["http://a..b", "http://a:x", "ftp://a", None])
def test_what_is_none_is_refused(url):
    with pytest.raises(ValueError):
        parse_address(url)


def test_an_edge_gets_by_with_the_standard_library():
    code = "import bestmix.client.edge_server, sys; assert 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
