"""The dashboard in a real browser, while real workers run."""

import json
import re
import shutil
import subprocess
import sys
import threading

import pytest
from tests.experiments.flows import QUICK, ROUTER
from tests.service.servers import Nginx, Running, require

from bestmix import SFSR, Problem, Uniform

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
FLAGS += ["--disable-component-update", "--disable-sync"]
PROBLEM = Problem(["small", "medium", "large"], {"dollars": 5.0, "seconds": 1.2})
TRIAL = """
import json, random, sys
reward, dollars, seconds = {"small": (0.5, 1, 0.3), "medium": (0.6, 4, 0.9), "large": (0.8, 9, 1.6)}[sys.argv[1]]
noise = lambda: random.gauss(0, 0.05)
print(json.dumps({"reward": reward + noise(), "costs": {"dollars": dollars + noise(), "seconds": seconds + noise()}}))
"""


@pytest.fixture(scope="module")
def browser():
    require(CHROMIUM is not None, "Chromium")
    sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright drives the browser")
    with sync_api.sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield made
        made.close()


@pytest.fixture
def open_page(browser, running):
    """A function that opens a page, logged in; nothing may go wrong on it, or go elsewhere."""
    wrong, contexts = [], []

    def opened(url=running.url, token=running.token, **options):
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda r: None if r.url.startswith((url, "data:")) else wrong.append(r.url))
        page.goto(f"{url}/login?token={token}")
        assert page.url == f"{url}/"
        return page

    yield opened
    for context in contexts:
        context.close()
    assert wrong == []


def make_all(exp, seed=1):
    """Every trial of an experiment."""
    import random

    rng, means = random.Random(seed), {"small": (0.5, 1.0, 0.3), "medium": (0.6, 4.0, 0.9), "large": (0.8, 9.0, 1.6)}
    while given := exp.ask(20, worker="w"):
        noisy = [(t, [m + rng.gauss(0, 0.05) for m in means[t.arm]]) for t in given]
        exp.tell_many([(t, values[0], values[1:]) for t, values in noisy])


def test_the_page_follows_real_workers(running, open_page, tmp_path):
    exp = running.create(problem=PROBLEM, budget=24, strategy=SFSR(), notes="Ask Ann <b>first</b>.")
    page = open_page()
    page.get_by_role("link", name="router").click()
    page.wait_for_selector("#sentence")
    assert "No arm has been tried yet" in page.inner_text("#sentence")
    (tmp_path / "trial.py").write_text(TRIAL)
    command = f"{sys.executable} -I {tmp_path / 'trial.py'} {{arm}}"
    words = [sys.executable, "-c", "from bestmix.cli import main; main()", "worker", running.url, "router"]
    environment = {"BESTMIX_TOKEN": running.token, "PATH": "/usr/bin:/bin"}
    crew = [subprocess.Popen([*words, "--exec", command, "-j", "2"], env=environment) for _ in range(2)]
    assert [worker.wait(120) for worker in crew] == [0, 0]
    page.wait_for_selector(".badge.done", timeout=60_000)
    status, answer = running.json("GET", f"/v1/experiments/{exp.record.key}/recommendation")
    assert status == 200
    assert page.inner_text("#sentence") == answer["sentence"]
    shares = page.eval_on_selector_all("#mixture td[data-share]", "cells => cells.map(c => Number(c.dataset.share))")
    names = page.eval_on_selector_all("#mixture td.text", "cells => cells.map(c => c.textContent)")
    assert dict(zip(names, shares, strict=True)) == answer["mixture"]
    assert page.inner_text("#complete") == str(exp.state.complete)
    rows = page.eval_on_selector_all("#arms tbody tr", "rows => rows.map(r => r.cells[0].textContent.slice(2))")
    assert sorted(rows) == ["large", "medium", "small"]
    rounds = running.json("GET", f"/v1/experiments/{exp.record.key}/history")[1]["rounds"]
    told = page.eval_on_selector_all("#rejected tbody tr", "rows => rows.map(r => r.cells[1].textContent.slice(2))")
    assert told == [r["rejected"] for r in reversed(rounds) if r["rejected"]]
    assert page.input_value("#text") == "Ask Ann <b>first</b>."
    assert page.locator("canvas").count() == 2
    page.get_by_role("link", name="seconds").click()
    assert "mean seconds" in page.text_content("svg.chart")


def test_pause_notes_trials_and_export_are_clicked(running, open_page):
    exp = running.create(problem=PROBLEM, budget=24, strategy=SFSR())
    exp.tell_failed(exp.ask(1, worker="w1")[0], "no luck")
    page = open_page()
    page.goto(f"{running.url}/experiments/{exp.record.key}")
    page.get_by_role("link", name="Pause").click()
    page.get_by_role("button", name="Pause").click()
    page.wait_for_selector(".badge.paused")
    assert exp.state.status == "paused"
    page.get_by_label(re.compile("remembered")).fill("Second week.")
    with page.expect_navigation():  # a click on the page that is left would be lost
        page.get_by_role("button", name="Save the notes").click()
    assert exp.notes == "Second week."
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV").click()
    assert "no luck" in download.value.path().read_text()
    with page.expect_download() as download:
        page.get_by_role("link", name="JSON").click()
    assert json.loads(download.value.path().read_text())["state"]["status"] == "paused"
    page.get_by_role("link", name="All trials").click()
    page.get_by_label("state").select_option("failed")
    page.get_by_role("button", name="Show").click()
    assert page.locator("#trials tbody tr").count() == 1
    page.goto(f"{running.url}/experiments/{exp.record.key}")
    page.get_by_role("link", name="Stop").focus()
    page.keyboard.press("Enter")  # by keyboard alone
    page.get_by_label("Why").fill("enough")
    page.keyboard.press("Enter")
    page.wait_for_selector(".badge.stopped")
    assert (exp.state.status, exp.state.reason) == ("stopped", "enough")


def test_a_click_is_not_lost_when_the_page_is_renewed_in_the_middle_of_it(running, open_page):
    exp = running.create(problem=PROBLEM, budget=24, strategy=SFSR())
    page = open_page()
    with page.expect_response(re.compile("/live")):  # the first figures of the stream
        page.goto(f"{running.url}/experiments/{exp.record.key}")
    page.get_by_role("link", name="JSON").hover()
    page.mouse.down()
    with page.expect_response(re.compile("/live")) as renewed:
        exp.tell(exp.ask(1, worker="w1")[0], 0.5, [1.0, 0.3])
    renewed.value.finished()
    assert page.inner_text("#complete") == "0"
    with page.expect_download():
        page.mouse.up()
    page.wait_for_function("document.getElementById('complete').textContent === '1'")


@pytest.mark.parametrize("look", ["light", "dark", "phone"])
def test_it_fits_every_screen(running, open_page, tmp_path, look):
    exp = running.create(problem=PROBLEM, budget=60, strategy=SFSR())
    make_all(exp)
    phone = {"viewport": {"width": 390, "height": 800}, "is_mobile": True}
    page = open_page(**phone if look == "phone" else {"color_scheme": look})
    page.goto(f"{running.url}/experiments/{exp.record.key}")
    page.wait_for_selector("canvas")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.screenshot(path=tmp_path / "page.png", full_page=True)
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(255, 255, 255)") == (look != "dark")


def test_a_wide_mix_takes_the_room_that_there_is_and_shows_where_it_goes_on(running, open_page):
    problem = Problem(
        [f"a-model-of-many-parameters-{k}" for k in range(4)], {"dollars": 5.0}, segments={"free": 0.7, "paid": 0.3}
    )
    exp = running.create(problem=problem, budget=80, strategy=Uniform())
    exp.tell_many([(t, float(t.arm[-1] == "23"[t.segment == "paid"]), [4.0 + 0.001 * t.token]) for t in exp.ask(80)])
    page = open_page(viewport={"width": 1200, "height": 900})
    page.goto(f"{running.url}/experiments/{exp.record.key}")
    table = page.locator(".scroll:has(#segments)")
    hidden = "box => box.scrollWidth - box.clientWidth"
    assert table.evaluate(hidden) == 0
    page.set_viewport_size({"width": 390, "height": 900})
    arms = page.locator(".scroll:has(#arms)")
    assert arms.evaluate(hidden) > 0
    assert "linear-gradient" in arms.evaluate("box => getComputedStyle(box).backgroundImage")


def test_the_legend_of_a_curve_tells_the_last_values_while_nothing_is_pointed_at(running, open_page):
    exp = running.create(problem=PROBLEM, budget=60, strategy=SFSR())
    make_all(exp)
    page = open_page()
    page.goto(f"{running.url}/experiments/{exp.record.key}")
    page.wait_for_selector("canvas")
    told = "[data-chart=scores] .u-series:first-child .u-value:text-is('%d')"
    first, last = (told % exp.history[place].number for place in (0, -1))
    page.wait_for_selector(last)
    page.hover("[data-chart=scores] .u-over", position={"x": 2, "y": 50})
    page.wait_for_selector(first)
    page.mouse.move(1, 1)
    page.wait_for_selector(last)


def test_a_single_result_appears_without_a_reload(running, open_page):
    exp = running.create(problem=PROBLEM, budget=60, strategy=SFSR())
    page = open_page()
    page.goto(f"{running.url}/experiments/{exp.record.key}")
    page.wait_for_selector("#news:has-text('0 of 60')")
    threading.Timer(0.2, lambda: exp.tell(exp.ask()[0], 1.0, [1.0, 1.0])).start()
    page.wait_for_selector("#news:has-text('1 of 60 trials')")
    page.wait_for_selector("#complete:has-text('1')")


def test_live_traffic_is_told_in_requests(running, open_page):
    exp = running.connect().create("live", ROUTER, traffic=QUICK)
    page = open_page()
    page.goto(f"{running.url}/experiments/{exp.record.key}")
    page.wait_for_selector("#news:has-text('running')")
    assert page.inner_text("#news") == "Live: 0 requests, running."


def open_tabs(open_page, url, token, exps):
    """A tab for each experiment, in one window."""
    first = open_page(url, token, ignore_https_errors=True)
    tabs = [first, *(first.context.new_page() for _ in exps[1:])]
    for tab, exp in zip(tabs, exps, strict=True):
        tab.goto(f"{url}/experiments/{exp.record.key}", timeout=10_000)
    return tabs


def check_tabs(tabs, exps, running):
    """Every tab follows its experiment, and a further request is still answered."""
    for tab in tabs:
        tab.wait_for_selector("#news:has-text('0 of 60')", timeout=10_000)
    assert len(running.app.state.streams) == 1
    for exp in {exp.record.key: exp for exp in exps}.values():
        exp.tell(exp.ask()[0], 1.0, [1.0, 1.0])
    for tab in tabs:
        tab.wait_for_selector("#news:has-text('1 of 60')", timeout=10_000)
        tab.wait_for_selector("#complete:has-text('1')", timeout=10_000)
    for tab in tabs[1:]:
        tab.close(run_before_unload=True)


def test_ten_tabs_share_one_stream(running, open_page):
    exps = [running.create(f"tab {k % 4}", problem=PROBLEM, budget=60, strategy=SFSR()) for k in range(10)]
    tabs = open_tabs(open_page, running.url, running.token, exps)
    check_tabs(tabs, exps, running)
    tabs[0].goto(f"{running.url}/")
    tabs[0].wait_for_selector("h1:has-text('Experiments')")


def test_ten_tabs_through_nginx(browser, open_page, running, tmp_path):
    require(shutil.which("nginx"), "nginx")
    exps = [running.create(f"tab {k}", problem=PROBLEM, budget=60, strategy=SFSR()) for k in range(10)]
    behind = Running(running.storage, proxies="127.0.0.1")
    try:
        with Nginx(tmp_path, behind.port) as nginx:
            tabs = open_tabs(open_page, nginx.url, behind.token, exps)
            assert tabs[0].evaluate("performance.getEntriesByType('navigation')[0].nextHopProtocol") == "h2"
            (cookie,) = tabs[0].context.cookies()
            assert (cookie["name"], cookie["secure"]) == (f"__Host-bestmix-{nginx.port}", True)
            check_tabs(tabs, exps, behind)
            tabs[0].get_by_role("button", name="Log out").click()
            tabs[0].wait_for_selector("h1:has-text('Log in')")
            assert tabs[0].context.cookies() == []
            tabs[0].goto("about:blank")
    finally:
        behind.stop()


def test_a_page_without_shared_workers_asks_now_and_then(running, open_page):
    exp = running.create(problem=PROBLEM, budget=60, strategy=SFSR())
    page = open_page()
    page.add_init_script("delete window.SharedWorker")
    page.goto(f"{running.url}/experiments/{exp.record.key}")
    page.wait_for_selector("#news:has-text('0 of 60')")
    exp.tell(exp.ask()[0], 1.0, [1.0, 1.0])
    page.wait_for_selector("#complete:has-text('1')")
    assert len(running.app.state.streams) == 0


def test_a_revoked_token_shows_the_way_in(running, browser):
    exp = running.create(problem=PROBLEM, budget=60, strategy=SFSR())
    token, text = running.tokens.create("read")
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{running.url}/login?token={text}")
    page.goto(f"{running.url}/experiments/{exp.record.key}")
    page.wait_for_selector("#news:has-text('0 of 60')")
    running.tokens.revoke(token.prefix)
    page.wait_for_selector("h1:has-text('Log in')", timeout=15_000)
    context.close()
