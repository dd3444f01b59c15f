import json
import shutil
import subprocess

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bestmix import Policy
from bestmix.answers import exports

POLICY = Policy({"small": 0.62, "large": 0.38}, {"dollars": 5.0})
ODD = Policy({'he said "no"': 1 / 3, "back\\slash; #": 1 / 3, "ü $x {y}": 1 / 3})

SPLIT = Policy(
    None,
    segments={"free": 0.5, "default": 0.3, '~odd "name"': 0.2},
    by_segment={"free": {"small": 1.0}, "default": {"small": 0.25, "large": 0.75}, '~odd "name"': {"large": 1.0}},
)

weights = st.lists(st.floats(0, 1), min_size=1, max_size=30).filter(lambda w: sum(w) > 1e-3)


@given(weights, st.sampled_from([100, exports.PERCENTS, exports.MILLION]))
def test_shares_add_up_and_are_less_than_one_off(values, total):
    policy = Policy({str(i): w / sum(values) for i, w in enumerate(values)})
    shares = exports.shares(policy.weights, total)
    assert sum(shares.values()) == total
    assert all(isinstance(share, int) and share > 0 for share in shares.values())
    assert all(abs(shares.get(arm, 0) - weight * total) < 1 + 1e-9 for arm, weight in policy.weights.items())


def test_nginx_splits_by_percent_and_gives_the_rest_to_the_last():
    text = Policy({"a": 0.001, "none": 0.0, "b": 0.5, "c": 0.499}).export("nginx", key="$request_id", variable="arm")
    assert text.split("\n") == [
        'split_clients "$request_id" $arm {',
        '    0.10%   "a";',
        '    50.00%  "b";',
        '    *       "c";',
        "}",
        "",
    ]


def test_a_single_arm_gets_everything():
    sure = Policy({"only": 1.0})
    assert '    *       "only";' in sure.export("nginx")
    assert json.loads(sure.export("envoy"))["route"]["weighted_clusters"]["clusters"] == [
        {"name": "only", "weight": 1_000_000}
    ]


def test_litellm_names_the_models():
    config = json.loads(POLICY.export("litellm", group="chat", models={"large": "openai/gpt-4o"}))
    assert [(m["model_name"], *m["litellm_params"].values()) for m in config["model_list"]] == [
        ("chat", "small", 620_000),
        ("chat", "openai/gpt-4o", 380_000),
    ]


ANY = [POLICY, ODD, Policy({"a": 1.0}, feasible=False), SPLIT]


@pytest.mark.parametrize("policy", ANY, ids=["two", "odd", "one", "segments"])
def test_json_follows_the_schema_and_is_what_save_writes(policy, tmp_path):
    jsonschema.Draft202012Validator.check_schema(Policy.schema())
    data = json.loads(policy.export("json"))
    jsonschema.validate(data, Policy.schema())
    policy.save(tmp_path / "p.json")
    assert json.loads((tmp_path / "p.json").read_text()) == data
    assert Policy.from_dict(data) == policy


@pytest.mark.parametrize("data", [{}, {"weights": {}}, {"weights": {"a": 2}}, {"weights": {"": 1}}, {"weights": [1]}])
def test_the_schema_refuses_what_is_not_a_policy(data):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, Policy.schema())
    if data != {"weights": {"a": 2}}:
        with pytest.raises(ValueError):
            Policy.from_dict(data)


def test_nginx_maps_segments_to_blocks_of_their_own():
    lines = SPLIT.export("nginx", segment="$cookie_plan").splitlines()
    assert [line for line in lines if line.startswith("split")] == [
        f'split_clients "$remote_addr" $bestmix_arm_{place} {{' for place in (1, 2, 3, 0)
    ]
    assert lines[-6:] == [
        'map "$cookie_plan" $bestmix_arm {',
        '    "free"  $bestmix_arm_1;',
        '    "\\\\default"  $bestmix_arm_2;',
        '    "\\\\~odd \\"name\\""  $bestmix_arm_3;',
        "    default  $bestmix_arm_0;",
        "}",
    ]


def test_envoy_and_litellm_have_an_entry_for_each_segment_and_one_for_the_rest():
    routes = json.loads(SPLIT.export("envoy", header="x-plan"))
    assert [r["match"].get("headers", [{}])[0].get("string_match", {}).get("exact") for r in routes] == [
        "free",
        "default",
        '~odd "name"',
        None,
    ]
    assert [c["weight"] for c in routes[1]["route"]["weighted_clusters"]["clusters"]] == [250_000, 750_000]
    names = [entry["model_name"] for entry in json.loads(SPLIT.export("litellm", group="chat"))["model_list"]]
    assert list(dict.fromkeys(names)) == ["chat", "chat-free", "chat-default", 'chat-~odd "name"']


def test_flagd_targets_fractions_by_segment():
    flag = json.loads(SPLIT.export("flagd", flag="model", attribute="plan"))["flags"]["model"]
    rule = flag["targeting"]["if"]
    assert rule[0] == {"==": [{"var": "plan"}, "free"]}
    assert rule[3]["fractional"][1:] == [["small", 2500], ["large", 7500]]
    assert rule[-1]["fractional"][1:] == [["small", 5750], ["large", 4250]]
    assert (flag["defaultVariant"], set(flag["variants"])) == ("small", {"small", "large"})
    assert json.loads(POLICY.export("flagd"))["flags"]["bestmix"]["targeting"]["fractional"][1:] == [
        ["small", 6200],
        ["large", 3800],
    ]


ALIKE = Policy(None, segments={"Free": 0.5, "free": 0.5}, by_segment={"Free": {"a": 1.0}, "free": {"a": 1.0}})
BAD = [
    (lambda: ALIKE.export("nginx"), "segments: nginx cannot tell 'Free' from 'free'"),
    (lambda: POLICY.export("nginx", segment="$x"), "segment: expected none, since the policy has no segments"),
    (lambda: POLICY.export("flagd", flag=" "), "flag: expected a name"),
    (lambda: POLICY.export("haproxy"), "form: expected one of 'json', 'nginx'"),
    (lambda: POLICY.export("json", key="x"), "options: expected none with 'json', got key"),
    (lambda: POLICY.export("nginx", variable="a b"), "variable: .*'a b'"),
    (lambda: POLICY.export("nginx", key=""), "key: expected text"),
    (lambda: Policy({"a\nb": 0.5, "c": 0.5}).export("nginx"), "weights: .* cannot be shown"),
    (lambda: POLICY.export("nginx", key="$a\nb"), "key: expected text that can be printed"),
    (lambda: POLICY.export("envoy", prefix="x"), "prefix: .*'x'"),
    (lambda: POLICY.export("litellm", models={"other": "m"}), "models: expected arms of the policy, .*'other'"),
    (lambda: POLICY.export("litellm", models=["m"]), "models: expected a mapping"),
]


@pytest.mark.parametrize(("make", "message"), BAD, ids=lambda x: x if isinstance(x, str) else "")
def test_bad_options_are_refused_by_name(make, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        make()


# The real programs judge the rest, where they are installed.

FOLDERS = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
HTTP = "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"


@pytest.mark.skipif(not shutil.which("nginx"), reason="nginx is not installed")
@pytest.mark.parametrize("policy", [POLICY, ODD, Policy({"a": 1.0}), SPLIT], ids=["two", "odd", "one", "segments"])
def test_nginx_takes_the_block(policy, tmp_path):
    folders = " ".join(f"{kind}_temp_path {tmp_path}/{kind};" for kind in FOLDERS)
    server = f"server {{ listen unix:{tmp_path}/s; location / {{ return 200 $bestmix_arm; }} }}"
    text = f"pid {tmp_path}/pid; error_log {tmp_path}/log; events {{}}\n"
    text += f"http {{ access_log off; {folders}\n{policy.export('nginx')}\n{server} }}\n"
    (tmp_path / "nginx.conf").write_text(text)
    command = ["nginx", "-t", "-p", tmp_path, "-c", tmp_path / "nginx.conf"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not shutil.which("envoy"), reason="Envoy is not installed")
@pytest.mark.parametrize("policy", [POLICY, ODD], ids=["two", "odd"])
def test_envoy_takes_the_route(policy, tmp_path):
    route = json.loads(policy.export("envoy"))
    manager = {
        "@type": HTTP,
        "stat_prefix": "x",
        "http_filters": [
            {
                "name": "router",
                "typed_config": {"@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"},
            }
        ],
        "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": [route]}]},
    }
    listener = {
        "address": {"socket_address": {"address": "127.0.0.1", "port_value": 10000}},
        "filter_chains": [{"filters": [{"name": "http", "typed_config": manager}]}],
    }
    clusters = [{"name": arm, "type": "STATIC", "connect_timeout": "1s"} for arm in policy.weights]
    path = tmp_path / "envoy.json"
    path.write_text(json.dumps({"static_resources": {"listeners": [listener], "clusters": clusters}}))
    done = subprocess.run(["envoy", "--mode", "validate", "-c", path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.filterwarnings("ignore:Item:UserWarning")  # of LiteLLM's own types
def test_litellm_takes_the_model_list(monkeypatch):
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # no network
    litellm = pytest.importorskip("litellm")
    config = json.loads(POLICY.export("litellm", group="chat", models={"small": "openai/a", "large": "openai/b"}))
    for entry in config["model_list"]:
        entry["litellm_params"]["api_key"] = "none"
    router = litellm.Router(model_list=config["model_list"], **config["router_settings"])
    # 4,000 draws within 5 standard errors: a false alarm once in 1,700,000 runs.
    drawn = [router.get_available_deployment("chat")["litellm_params"]["model"] for _ in range(4000)]
    assert abs(drawn.count("openai/a") / 4000 - 0.62) < 5 * (0.62 * 0.38 / 4000) ** 0.5
