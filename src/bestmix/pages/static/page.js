// Keeps an experiment's page fresh: the server says when something changed, the page fetches its live part anew.
"use strict";

(() => {
  const live = document.getElementById("live");
  if (!live) return;
  const news = document.getElementById("news");
  const base = `/experiments/${live.dataset.key}`;
  const dashes = [[], [8, 4], [2, 3], [10, 3, 2, 3], [5, 5], [1, 4], [12, 4], [6, 2, 2, 2]];
  let plots = [];

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

  function palette() {
    return [colour("support"), ...[1, 2, 3, 4, 5, 6, 7].map((place) => colour(`curve-${place}`))];
  }

  function draw() {
    plots.forEach((plot) => plot.destroy());
    plots = [];
    const data = document.getElementById("charts");
    if (!data || typeof uPlot === "undefined") return;
    const charts = JSON.parse(data.textContent);
    document.querySelectorAll("[data-chart]").forEach((place) => {
      const kind = place.dataset.chart;
      const lines = charts[kind];
      if (!lines.length) {
        place.textContent = "Nothing to draw yet.";
        return;
      }
      place.setAttribute("role", "img");
      place.setAttribute("aria-label", `${kind} by round: ${lines.map((line) => line.name).join(", ")}`);
      plots.push(new uPlot(options(place, kind, lines, charts), columns(charts.rounds, lines), place));
    });
  }

  const columns = (rounds, lines) => [rounds, ...lines.map((line) => line.values)];

  // Upright lines at the rounds in which the problem was changed.
  function mark(plot, changes) {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.strokeStyle = colour("bound");
    ctx.setLineDash([6, 4]);
    changes.forEach((round) => {
      const x = plot.valToPos(round, "x", true);
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
    });
    ctx.restore();
  }

  // While nothing is pointed at, the legend tells the last values.
  function rest(plot) {
    if (plot.legend.idxs[0] == null) plot.setLegend({ idx: plot.data[0].length - 1 });
  }

  function options(place, kind, lines, { rounds, changes }) {
    const shades = palette();
    const axis = { stroke: colour("muted"), grid: { stroke: colour("grid"), width: 1 }, ticks: { stroke: colour("grid") } };
    const share = kind === "mixture";
    const shown = (value) => (value == null ? "–" : share ? `${(100 * value).toFixed(1)}%` : value.toPrecision(4));
    return {
      width: Math.max(place.clientWidth, 240),
      height: 230,
      hooks: { draw: [(plot) => mark(plot, changes)], ready: [rest], setLegend: [rest] },
      scales: { x: { time: false }, y: share ? { range: [0, 1.02] } : {} },
      axes: [
        { ...axis, label: "round", labelSize: 18, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000] },
        { ...axis, size: 56, values: (_, ticks) => ticks.map((tick) => (share ? `${Math.round(100 * tick)}%` : tick)) },
      ],
      series: [
        { label: "round" },
        ...lines.map((line) => ({
          label: line.name,
          stroke: shades[line.look],
          width: 2,
          dash: dashes[line.look],
          points: { show: rounds.length < 30, size: 5 },
          value: (_, value) => shown(value),
        })),
      ],
    };
  }

  let waiting = false;
  let again = false;
  let stale = false;

  async function refresh() {
    stale = document.hidden; // nobody looks: it is fetched when somebody does
    if (stale) return;
    if (waiting) {
      again = true;
      return;
    }
    waiting = true;
    try {
      const query = live.dataset.cost ? `?cost=${encodeURIComponent(live.dataset.cost)}` : "";
      const answer = await fetch(`${base}/live${query}`, { headers: { Accept: "text/html" } });
      if (answer.ok) replace(await answer.text());
      else if (answer.status === 401) location.reload();
    } catch {
      news.textContent = silent;
    }
    await new Promise((done) => setTimeout(done, 1000));
    waiting = false;
    if (again) {
      again = false;
      refresh();
    }
  }

  // A click is lost when what was pressed is gone before it is let go: what comes meanwhile waits.
  let pressed = false;
  let fetched = null;

  function release() {
    setTimeout(() => { // after the click itself
      pressed = false;
      if (fetched !== null) replace(fetched);
    }, 0);
  }

  live.addEventListener("pointerdown", () => (pressed = true));
  ["pointerup", "pointercancel", "blur"].forEach((end) => addEventListener(end, release));

  function replace(text) {
    fetched = pressed ? text : null;
    if (pressed) return;
    const held = document.activeElement && live.contains(document.activeElement) && document.activeElement.getAttribute("href");
    const scrolls = [...live.querySelectorAll(".scroll")].map((part) => part.scrollLeft);
    live.innerHTML = text;
    live.querySelectorAll(".scroll").forEach((part, i) => (part.scrollLeft = scrolls[i] || 0));
    if (held) live.querySelector(`a[href="${CSS.escape(held)}"]`)?.focus();
    draw();
  }

  const silent = "The server does not answer; the page goes on as soon as it does.";
  let shown = "";

  const count = (number) => number.toLocaleString("en");

  function tell(state) {
    const most = state.budget >= 2 ** 53 ? "" : ` of ${count(state.budget)}`; // money is limited, or nothing
    news.textContent = `Live: ${count(state.complete)}${most} ${live.dataset.unit}, ${state.status}.`;
    const figures = JSON.stringify(state);
    if (figures === shown) return;
    shown = figures;
    refresh();
  }

  const deleted = () => (news.textContent = "The experiment was deleted.");

  // Browsers open six connections to a server: all tabs share one stream, which a worker of theirs holds.
  function share() {
    const { port } = new SharedWorker("/static/follow.js");
    const say = (word) => port.postMessage({ word, key: live.dataset.key });
    port.onmessage = ({ data }) => {
      if (data.kind === "state") tell(data.state);
      else if (data.kind === "deleted") deleted();
      else {
        news.textContent = silent;
        if (data.kind === "refused") refresh(); // which shows the way in, where that is why
      }
    };
    say("follow");
    setInterval(() => say("follow"), 20000); // those who are silent for long are taken for closed
    addEventListener("pagehide", () => say("leave"));
    addEventListener("pageshow", (event) => event.persisted && say("follow"));
  }

  // Where there are no shared workers, ask now and then.
  async function poll() {
    let again = true;
    if (!document.hidden) {
      try {
        const answer = await fetch(`/v1/experiments/${live.dataset.key}`);
        if (answer.ok) tell(await answer.json());
        else if (answer.status === 401) location.reload();
        else if (answer.status === 404) again = deleted() && false;
      } catch {
        news.textContent = silent;
      }
    }
    if (again) setTimeout(poll, 2000);
  }

  document.addEventListener("DOMContentLoaded", draw);
  if (document.readyState !== "loading") draw();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  addEventListener("resize", () => plots.forEach((plot) => plot.setSize({ width: Math.max(plot.root.parentNode.clientWidth, 240), height: 230 })));
  document.addEventListener("visibilitychange", () => !document.hidden && stale && refresh());
  if (typeof SharedWorker === "undefined") poll();
  else share();
})();
