/**
 * The pictures of `docs/dashboard.md`: a store with a day's work in it, looked at in a real browser.
 *
 *   deno run -A tests/web/pictures.ts [FOLDER]
 */
import { DatabaseSync } from "node:sqlite";
import { chromium } from "playwright-core";
import { Client } from "../../src/client/client.ts";
import { Crontab } from "../../src/client/crontab.ts";
import { type Clock, systemClock } from "../../src/clock.ts";
import { RUN_BOUNDS_MS } from "../../src/store/port/metrics.ts";
import { openStore } from "../../src/store/open.ts";
import type { Lease } from "../../src/store/port/jobs.ts";
import { serve } from "../../src/web/http/serve.ts";
import { openSite } from "./site.ts";
import type { Store } from "../../src/store/admin/store.ts";

const FOLDER = Deno.args[0] ?? new URL("../../docs/pictures", import.meta.url).pathname;
const CLASSES = ["ImportFile", "Mailer::Welcome", "Billing::InvoiceJob", "Thumbnail", "SearchIndex"];

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

/** What the process performs at the moment. */
let running: Lease[] = [];

await Deno.mkdir(FOLDER, { recursive: true });
await using site = await openSite("sqlite");
const { store } = site;
const client = new Client({ store });
await past(site.url);
await fill(store, client);
await work(store, client);
await using server = await serve(site.web, { host: "127.0.0.1", port: 0 });
const base = `http://127.0.0.1:${server.address.port}`;
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
try {
  const wide = { width: 1240, height: 860 };
  const light = await browser.newPage({ viewport: wide, colorScheme: "light" });
  const dark = await browser.newPage({ viewport: wide, colorScheme: "dark" });
  const phone = await browser.newPage({ viewport: { width: 360, height: 740 }, deviceScaleFactor: 2 });
  await light.goto(`${base}/`);
  for (let i = 0; i < 20; i++) {
    await work(store, client, Math.round(60 + 50 * Math.sin(i / 2)));
    await light.waitForTimeout(700);
  }
  await light.screenshot({ path: `${FOLDER}/overview.png` });
  await phone.goto(`${base}/retries`);
  await phone.screenshot({ path: `${FOLDER}/phone.png` });
  const pages = {
    dead: "/dead",
    classes: "/classes",
    cron: "/cron",
    done: "/finished",
    busy: "/running",
    audit: "/audit",
  };
  for (const [name, path] of Object.entries(pages)) {
    await light.goto(base + path);
    await light.screenshot({ path: `${FOLDER}/${name}.png` });
  }
  await dark.goto(`${base}/dead`);
  await dark.locator("a.class").first().click();
  await dark.locator("article").waitFor();
  await dark.screenshot({ path: `${FOLDER}/job.png` });
} finally {
  await browser.close();
}

/** What was before: a month of days, and an hour of what the classes took. */
async function past(url: string): Promise<void> {
  using database = new DatabaseSync(url.slice("sqlite:".length), { timeout: 5_000 });
  const add = database.prepare("INSERT OR REPLACE INTO total (name, count) VALUES (?, ?)");
  for (let ago = 1; ago < 90; ago++) {
    const day = new Date(Date.now() - ago * DAY_MS);
    const isWeekend = [0, 6].includes(day.getUTCDay());
    const processed = Math.round((isWeekend ? 400 : 1_900) * (1 + 0.3 * Math.sin(ago * 1.7)) + 3 * (90 - ago));
    const failed = Math.round(processed * (ago === 11 ? 0.4 : 0.04));
    add.run(`processed:${day.toISOString().slice(0, 10)}`, processed);
    add.run(`failed:${day.toISOString().slice(0, 10)}`, failed);
  }
  for (let ago = 59; ago > 0; ago--) {
    const clock: Clock = {
      now: () => Date.now() - ago * MINUTE_MS,
      monotonic: () => systemClock.monotonic(),
      sleep: (ms, signal) => systemClock.sleep(ms, signal),
      turn: () => systemClock.turn(),
    };
    await using store = await openStore(url, { clock });
    await store.metrics.record(CLASSES.map((name, i) => {
      const processed = Math.round((8 + 5 * Math.sin(ago / 6 + i)) * (5 - i) + 2);
      const failed = i === 2 && ago % 9 === 0 ? 3 : 0;
      const histogram = RUN_BOUNDS_MS.map((bound) => {
        const distance = Math.log(bound / (25 * 4 ** i));
        return Math.round((processed - failed) * Math.exp(-distance * distance));
      });
      return { class: name, processed, failed, workedMs: processed * 25 * 4 ** i, histogram: [...histogram, 0] };
    }));
  }
}

async function fill(store: Store, client: Client): Promise<void> {
  for (let i = 0; i < 420; i++) {
    await client.push(CLASSES[i % 5]!, [`/srv/import/customers-${i}.csv`, { rows: i * 31, api_key: "k" }], {
      queue: ["default", "mail", "low"][i % 3]!,
    });
  }
  for (let i = 0; i < 30; i++) await client.push("Billing::InvoiceJob", [4_711 + i, "2026-11"], { in: 600 + 90 * i });
  const crontab = new Crontab({ store, client });
  await crontab.add({ name: "nightly report", class: "Report", rule: "0 3 * * *", timezone: "Europe/Zurich" });
  await crontab.add({ name: "sync stock", class: "StockSync", every: "5m" });
  await crontab.add({ name: "invoices", class: "Billing::InvoiceJob", rule: "30 6 1 * *", timezone: "UTC" });
  await crontab.pause("invoices");
  await crontab.run("sync stock");
  const ann = { user: "ann", by: "cookie", from: "10.0.3.17" };
  await store.audit.record({
    ...ann,
    action: "retry",
    target: "all in dead",
    details: 'with class "ImportFile"',
    count: 212,
  });
  await store.audit.record({ ...ann, action: "pause", target: "queue:mail" });
  await store.audit.record({
    user: "deploy",
    by: "token",
    from: "10.0.0.4",
    action: "quiet",
    target: "all processes",
    count: 3,
  });
  await store.audit.record({
    ...ann,
    action: "cancel",
    target: "1a200560633749ddc0f007ba",
    details: "at web1:4711:8c5a",
    count: 1,
  });
  await store.admin.pause("mail");
}

/** A process's work: most jobs end well, some are tried again, some have failed for good. */
async function work(store: Store, client: Client, count = 150): Promise<void> {
  const identity = "web1:4711:8c5a";
  const beat = (payloads: readonly string[]) =>
    store.workers.heartbeat({
      identity,
      hostname: "web1",
      pid: 4711,
      tag: "blue",
      labels: [],
      queues: ["critical", "default"],
      weights: { critical: 3, default: 1 },
      concurrency: 10,
      version: "0.1.0",
      startedAt: Date.now() - 93 * 60_000,
      quiet: false,
      busy: payloads.length,
      rss: 96 * 1024 * 1024,
      work: payloads.map((payload, i) => ({
        task: `processor-${i + 1}`,
        queue: "default",
        payload,
        since: Date.now() - 4_200 * (i + 1),
        progress: `${(i + 2) * 17} percent`,
        lastLine: `At row ${(i + 3) * 1_204}`,
      })),
    }, 60_000);
  await beat([]);
  await client.pushBulk({
    class: "Thumbnail",
    args: Array.from({ length: count }, (_, i) => [`cat-${i}.png`]),
    queue: "critical",
  });
  const taken = await store.jobs.take({ queues: ["critical", "default"], limit: count, owner: identity });
  const leases = [...running, ...taken.slice(3)];
  running = taken.slice(0, 3);
  const error = { error_class: "TypeError", error_message: "No such account: 4711" };
  await store.jobs.settle(
    identity,
    leases.map(({ token, payload }, i) => {
      const job = JSON.parse(payload);
      const failed = JSON.stringify({
        ...job,
        ...error,
        created_at: Date.now() / 1_000 - 3_602 + 0.5,
        enqueued_at: Date.now() / 1_000 - 62 + 0.5,
        failed_at: Date.now() / 1_000 - 3_600 + 0.5,
        retried_at: Date.now() / 1_000 - 60 + 0.5,
        retry_count: 2,
        errors: [3_600, 2_400, 60].map((ago) => ({ at: Math.round(Date.now() / 1_000) - ago, ...error })),
        tags: ["night"],
      });
      if (i % 23 === 7) return { token, kind: "retry", delayMs: 20_000 * i, payload: failed };
      if (i % 31 === 9) return { token, kind: "bury", payload: failed };
      return { token, kind: "ack" };
    }),
  );
  for (const [i, { payload }] of leases.slice(0, 40).entries()) {
    const { jid, class: name, queue, args } = JSON.parse(payload);
    const elapsed_ms = Math.round(20 * 1.16 ** i);
    const body = {
      jid,
      class: CLASSES[i % 5],
      queue,
      state: i % 13 === 5 ? "failed" : "done",
      payload: { class: name, args },
    };
    const times = { started_at: Date.now() - elapsed_ms, ended_at: Date.now() - i * 900, elapsed_ms };
    const outcome = i % 13 === 5
      ? { error: { class: "TypeError", message: "No such account: 4711" } }
      : { result: { rows: i * 7 } };
    await store.results.keep({ jid, ttlMs: 3_600_000, body: JSON.stringify({ ...body, ...times, ...outcome }) });
  }
  await beat(running.map(({ payload }) => payload));
}
