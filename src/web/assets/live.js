// Updates pages live: counts, lists and relative times. All pages work without it.
"use strict";

const prefix = document.documentElement.dataset.prefix ?? "";
const $ = (selector, from = document) => from.querySelector(selector);
const $$ = (selector, from = document) => [...from.querySelectorAll(selector)];

// Times: the viewer's zone on hover, and "3s ago" kept true. Sweden writes dates as ISO 8601, like the rest of the pages.
const exact = new Intl.DateTimeFormat("sv-SE", { dateStyle: "short", timeStyle: "long" });

function duration(ms) {
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds}s`;
  const [big, small, unit] = seconds < 3600 ? ["m", "s", 60] : seconds < 86400 ? ["h", "m", 3600] : ["d", "h", 86400];
  const rest = Math.floor((seconds % unit) / { s: 1, m: 60, h: 3600 }[small]);
  return `${Math.floor(seconds / unit)}${big}${rest > 0 ? `${rest}${small}` : ""}`;
}

function showTimes(from = document) {
  const now = Date.now();
  for (const time of $$("time[datetime]", from)) {
    const at = Date.parse(time.dateTime);
    // A name in a sentence may only look like a time.
    if (Number.isNaN(at)) continue;
    time.title = exact.format(at);
    if ("exact" in time.dataset) time.textContent = exact.format(at);
    else if (Math.abs(at - now) < 500) time.textContent = "now";
    else time.textContent = at > now ? `in ${duration(at - now)}` : `${duration(now - at)} ago`;
  }
}

// Selecting rows: all at once, a range with Shift.
let lastSelected;

function countSelected() {
  const selected = $$("input[name=ref]:checked[type=checkbox]").length;
  for (const label of $$("[data-selected]")) label.textContent = selected > 0 ? String(selected) : "Jobs";
  const all = $("input[data-all]");
  if (all) all.checked = selected > 0 && selected === $$("input[name=ref][type=checkbox]").length;
}

document.addEventListener("click", (event) => {
  const box = event.target;
  if (!(box instanceof HTMLInputElement) || box.type !== "checkbox") return;
  const boxes = $$("input[name=ref][type=checkbox]");
  if ("all" in box.dataset) { for (const one of boxes) one.checked = box.checked; }
  if (box.name === "ref") {
    if (event.shiftKey && lastSelected && boxes.includes(lastSelected)) {
      const [from, to] = [boxes.indexOf(lastSelected), boxes.indexOf(box)].sort((a, b) => a - b);
      for (const one of boxes.slice(from, to + 1)) one.checked = box.checked;
    }
    lastSelected = box;
  }
  countSelected();
});

function toggleKeys() {
  const keys = $("#keys");
  if (keys?.open) keys.close();
  else keys?.showModal();
}

// A button that copies a text. Without HTTPS, browsers have no clipboard but that of a selection.
document.addEventListener("click", async (event) => {
  if (event.target.closest?.("[data-keys]")) toggleKeys();
  const button = event.target.closest?.("[data-copy]");
  if (!button) return;
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
  } catch {
    const field = document.createElement("textarea");
    field.value = button.dataset.copy;
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
  button.textContent = "Copied";
  setTimeout(() => (button.textContent = "Copy"), 1500);
});

// Keys: / searches, g and a letter opens a page, j and k move through a list, x selects, ? shows them all.
let going = false;
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input:not([type=checkbox]), textarea, select")) return;
  if (going) {
    going = false;
    const page = $(`nav a[data-key="${CSS.escape(event.key)}"]`);
    if (page) page.click();
    return;
  }
  if (event.key === "?") toggleKeys();
  else if (event.key === "/") {
    event.preventDefault();
    $(".search input")?.focus();
  } else if (event.key === "g") {
    going = true;
    setTimeout(() => (going = false), 1500);
  } else if (event.key === "j" || event.key === "k") {
    const rows = $$("main .list tbody a.class");
    const at = rows.findIndex((row) => row.closest("tr").contains(document.activeElement));
    rows[Math.max(0, Math.min(rows.length - 1, at + (event.key === "j" ? 1 : -1)))]?.focus();
  } else if (event.key === "x") {
    document.activeElement?.closest("tr")?.querySelector("input[type=checkbox]")?.click();
  }
});

// The server sends the counts. When they change, the page's live parts are fetched again. A change that cannot be shown
// now (another fetch is in flight or failed, the part is in use, the page is hidden) is shown later.
let refreshing = false;
/** When the parts were last read. Alerts depend on the time as well: they are read again after 10 s. */
let refreshedAt = Date.now();
/** The page shows less than the server has sent. */
let stale = false;
/** A part was in use and has not been updated. */
let postponed = false;

function isBusy(part) {
  return part.contains(document.activeElement) || $("input[type=checkbox]:checked", part) !== null ||
    part.contains(getSelection().isCollapsed ? null : getSelection().anchorNode) ||
    $("details.popover[open]", part) !== null ||
    $$("input:not([type=checkbox]), textarea", part).some(({ value, defaultValue }) => value !== defaultValue);
}

async function refresh() {
  if (refreshing || document.hidden || $("[data-live]") === null) return;
  refreshing = true;
  try {
    while (stale) {
      stale = false;
      refreshedAt = Date.now();
      const response = await fetch(location.href, { headers: { "x-live": "1" } });
      if (response.status >= 500) throw new Error(response.statusText);
      // The session has expired, or the page no longer exists.
      if (!response.ok || response.redirected) return;
      showFresh(new DOMParser().parseFromString(await response.text(), "text/html"));
    }
  } catch {
    stale = true;
  } finally {
    refreshing = false;
  }
}

function showFresh(fresh) {
  for (const part of $$("[data-live]")) {
    const other = fresh.getElementById(part.id);
    if (other === null || other.innerHTML === part.dataset.was) continue;
    if (isBusy(part)) {
      postponed = true;
      continue;
    }
    part.dataset.was = other.innerHTML;
    // Details that the visitor has opened stay open.
    for (const { id } of $$("details[open][id]", part)) {
      other.querySelector(`#${CSS.escape(id)}`)?.setAttribute("open", "");
    }
    part.replaceChildren(...other.childNodes);
    showTimes(part);
  }
}

// The throughput of the last counts.
let samples = [];
const RATE_MS = 30_000;

function showRate(stats) {
  const place = $("[data-rate=processed]");
  samples = [...samples.filter(({ at }) => stats.at - at <= RATE_MS), stats];
  const [first] = samples;
  if (place && stats.at > first.at) {
    const rate = Math.max(0, stats.processed - first.processed) / ((stats.at - first.at) / 1000);
    place.textContent = rate >= 100 ? Math.round(rate).toLocaleString("en-US") : rate.toFixed(1);
  }
}

/** A refused page connects again after this time. */
const REFUSED_RETRY_MS = 5000;

/**
 * Follows server-sent events until the returned function is called. A hidden page holds no connection: over HTTP/1.1, all tabs
 * of a browser share six to a server, and the next page would never load.
 */
function follow(path, listeners) {
  let source;
  let retry;
  const close = () => {
    clearTimeout(retry);
    source?.close();
  };
  const open = () => {
    close();
    if (document.hidden) return;
    const opened = source = new EventSource(prefix + path());
    for (const [name, listener] of Object.entries(listeners)) opened.addEventListener(name, listener);
    // A browser connects again when a connection breaks, but not after a refusal, such as a proxy's while the server restarts.
    opened.addEventListener("error", () => {
      if (opened.readyState === EventSource.CLOSED) retry = setTimeout(open, REFUSED_RETRY_MS);
    });
  };
  document.addEventListener("visibilitychange", open);
  open();
  return () => {
    document.removeEventListener("visibilitychange", open);
    close();
  };
}

let unwatch;
let counts = "";

function showStats(event) {
  const stats = JSON.parse(event.data);
  for (const place of $$("[data-stat]")) {
    const count = stats[place.dataset.stat];
    const text = count.toLocaleString("en-US");
    if (place.textContent !== text) place.textContent = text;
    if (place.classList.contains("count")) place.classList.toggle("zero", count === 0);
  }
  showRate(stats);
  const { at: _, ...rest } = stats;
  const now = JSON.stringify(rest);
  // Running jobs and operations change without the counts; a heartbeat reports later that a job has ended.
  if (now !== counts || stats.running > 0 || $(".operation.running, [data-running]")) stale = true;
  if ($("#alerts") && Date.now() - refreshedAt > 10000) stale = true;
  if (postponed && !$$("[data-live]").some(isBusy)) {
    postponed = false;
    stale = true;
  }
  counts = now;
  if (stale) refresh();
}

function watch() {
  unwatch = follow(() => "/events", {
    stats: showStats,
    // Changes without a connection are unknown.
    open: () => {
      counts = "";
      samples = [];
    },
  });
}

const toggle = $("#live");
if (toggle) {
  toggle.checked = localStorage.getItem("jobs.live") !== "off";
  toggle.addEventListener("change", () => {
    localStorage.setItem("jobs.live", toggle.checked ? "on" : "off");
    if (toggle.checked) watch();
    else unwatch?.();
  });
  if (toggle.checked) watch();
}
// The stream of a job that has not ended continues here.
const streamed = $("[data-stream]");

function addChunk(text) {
  const shown = $("pre", streamed);
  const isAtEnd = shown.scrollTop + shown.clientHeight >= shown.scrollHeight - 8;
  shown.append(text);
  if (shown.textContent.length > 200000) shown.textContent = `…${shown.textContent.slice(-100000)}`;
  streamed.hidden = false;
  if (isAtEnd) shown.scrollTop = shown.scrollHeight;
}

if (streamed) {
  const { stream } = streamed.dataset;
  let after = streamed.dataset.after;
  let run = Number(streamed.dataset.run);
  const stop = follow(() => `/api/v1/jobs/${encodeURIComponent(stream)}/stream?after=${after}`, {
    message(event) {
      const next = JSON.parse(event.data);
      // The text of the server: a number above 2^53 would be rounded.
      const json = event.data.slice(event.data.indexOf(',"chunk":') + ',"chunk":'.length, -1);
      after = event.lastEventId;
      if (run !== 0 && next.run !== run) addChunk(`\n— run ${next.run} —\n`);
      run = next.run;
      addChunk(typeof next.chunk === "string" ? next.chunk : `${json}\n`);
    },
    gap(event) {
      after = event.lastEventId;
      addChunk("\n…\n");
    },
    end: () => stop(),
  });
}
document.addEventListener("visibilitychange", () => {
  if (stale) refresh();
});
showTimes();
countSelected();
setInterval(() => showTimes(), 1000);
