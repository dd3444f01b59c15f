import subprocess
import sys
from pathlib import Path

import pytest

import bestmix

HEAVY = ["numba", "matplotlib", "scipy", "pandas", "polars", "pyarrow", "typer", "rich", "sqlalchemy"]
HEAVY += ["fastapi", "uvicorn", "jinja2"]


def loaded_after(code):
    """Heavy modules that a fresh interpreter has loaded after running the code."""
    text = f"import sys; {code}; print(*(m for m in {HEAVY} if m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_importing_the_package_loads_nothing_heavy():
    assert loaded_after("import bestmix; dir(bestmix)") == []


@pytest.mark.parametrize("name", ["Problem", "Instance", "Known", "catalog", "noise"])
def test_describing_a_problem_loads_nothing_heavy(name):
    assert loaded_after(f"from bestmix import {name}") == []


def test_plots_load_matplotlib_only_when_a_figure_is_made():
    assert not {"matplotlib", "pandas", "polars"} & set(loaded_after("from bestmix import plots, report, solve"))


@pytest.mark.parametrize("name", bestmix.__all__)
def test_every_public_name_is_there_and_documented(name):
    value = getattr(bestmix, name)
    assert name in dir(bestmix)
    if name != "__version__":
        assert value.__doc__


def test_public_names_are_listed_once_and_others_are_refused():
    assert len(set(bestmix.__all__)) == len(bestmix.__all__)
    assert set(bestmix._HOME) | set(bestmix._MODULES) | {"__version__"} == set(bestmix.__all__)
    with pytest.raises(AttributeError, match=r"module 'bestmix' has no attribute 'nonsense'"):
        bestmix.nonsense  # noqa: B018


def test_the_version_is_that_of_the_distribution():
    from importlib.metadata import version

    assert bestmix.__version__ == version("bestmix")


def test_a_client_loads_no_arithmetic():
    # It opens an experiment and reads an answer that a server would have sent.
    code = """
import json
from bestmix import connect, client
data = json.loads(open({path!r}).read())
texts = {{entry["request"][1]: entry["answer"][3] for entry in data if entry["request"][0] == "GET"}}
server = connect("http://127.0.0.1:1", token="x")
server.transport.call = lambda method, path, body=None, **query: (200, json.loads(texts[path]))
exp = client.RemoteExperiment(server.transport, json.loads(texts["/v1/experiments/000000000002"]))
assert exp.recommend().sentence() and exp.recommend().history and str(exp.recommend()) and exp.state.budget == 20
assert exp.recommend().policy().draw(3, seed=1)
"""
    path = Path(__file__).parent / "service" / "recorded" / "0.1.json"
    assert loaded_after(f"exec({code.format(path=str(path))!r})") == []
