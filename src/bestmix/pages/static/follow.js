// One stream for all tabs of a browser: a shared worker that follows the experiments which they show.
"use strict";

const QUIET = 150000; // milliseconds after which a tab is taken for closed; hidden tabs speak once a minute
const AGAIN = 3000; // milliseconds until the next attempt after a refusal
const tabs = new Map(); // of each tab, by its port: the experiment that it shows, and when it last spoke
const figures = new Map(); // the last figures of each experiment
let source = null;
let followed = "";
let planned = null;

function tell(key, message) {
  for (const [port, tab] of tabs) if (key === null || tab.key === key) port.postMessage(message);
}

function open() {
  const keys = [...new Set([...tabs.values()].map((tab) => tab.key))].sort();
  if (source && source.readyState !== EventSource.CLOSED && keys.join() === followed) return;
  if (source) source.close();
  source = null;
  followed = keys.join();
  for (const key of figures.keys()) if (!keys.includes(key)) figures.delete(key);
  if (!keys.length) return;
  const made = new EventSource(`/follow?${keys.map((key) => `experiment=${encodeURIComponent(key)}`).join("&")}`);
  source = made;
  made.addEventListener("state", ({ data }) => {
    const state = JSON.parse(data);
    figures.set(state.id, state);
    tell(state.id, { kind: "state", state });
  });
  made.addEventListener("deleted", ({ data }) => {
    const { id } = JSON.parse(data);
    tell(id, { kind: "deleted" });
    for (const [port, tab] of tabs) if (tab.key === id) tabs.delete(port);
    plan(0);
  });
  made.addEventListener("error", () => {
    if (made !== source) return;
    const refused = made.readyState === EventSource.CLOSED; // by the server, with a status that is no success
    tell(null, { kind: refused ? "refused" : "silent" });
    if (refused) plan(AGAIN);
  });
}

// Soon, so that several tabs which open at once cause one stream.
function plan(milliseconds) {
  clearTimeout(planned);
  planned = setTimeout(open, milliseconds);
}

onconnect = ({ ports: [port] }) => {
  port.onmessage = ({ data: { word, key } }) => {
    const known = tabs.get(port);
    if (word === "leave") tabs.delete(port);
    else tabs.set(port, { key, seen: Date.now() });
    if (!known && figures.has(key)) port.postMessage({ kind: "state", state: figures.get(key) });
    if (!known || word === "leave") plan(100);
  };
};

setInterval(() => {
  for (const [port, tab] of tabs) if (Date.now() - tab.seen > QUIET) tabs.delete(port);
  plan(0);
}, 30000);
