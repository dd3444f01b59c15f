import re

from bestmix.service.metrics import STEPS, Metrics, memory


def values(text):
    """Figures by name and labels; every line is a comment or has this form."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    found = [re.fullmatch(r"([a-z_]+(?:\{.*\})?) ([-+.\deE]+)", line) for line in lines]
    assert all(found)
    return {match[1]: float(match[2]) for match in found}


def test_a_histogram_adds_up():
    metrics = Metrics()
    seconds = [0.0005, 0.001, 0.004, 0.3, 99.0]
    for taken in seconds:
        metrics.count("GET", "/x", 200, taken)
    found = values(metrics.text({}))
    buckets = [found[f'bestmix_request_seconds_bucket{{route="/x",le="{step}"}}'] for step in (*STEPS, "+Inf")]
    assert buckets == [sum(taken <= step for taken in seconds) for step in (*STEPS, float("inf"))]
    assert found['bestmix_request_seconds_count{route="/x"}'] == len(seconds)
    assert found['bestmix_request_seconds_sum{route="/x"}'] == sum(seconds)


def test_labels_are_quoted():
    metrics = Metrics()
    metrics.count("GET", 'a"b\\c\nd', 200, 0.1)
    assert 'route="a\\"b\\\\c\\nd"' in metrics.text({})


def test_every_name_is_described_once():
    metrics = Metrics()
    metrics.count("GET", "/x", 200, 0.1)
    text = metrics.text({"running": 2}, streams=3)
    described = re.findall(r"^# TYPE (\S+)", text, re.M)
    assert len(set(described)) == len(described)
    assert values(text)['bestmix_experiments{status="running"}'] == 2
    assert values(text)["bestmix_streams"] == 3


def test_memory_is_that_of_a_python_process():
    assert 10e6 < memory() < 100e9
