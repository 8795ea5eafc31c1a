/**
 * A shop's jobs, for pictures and staged incidents: mails, invoices, imports, webhooks and images in several queues,
 * with workers, errors and a history.
 *
 * @module
 */
import { type AuditEvent, recordEvent } from "../../src/store/admin/audit.ts";
import { DatabaseSync } from "node:sqlite";
import { Client } from "../../src/client/client.ts";
import { Crontab } from "../../src/client/crontab.ts";
import { type Clock, systemClock } from "../../src/clock.ts";
import { encodeBacktrace } from "../../src/job/failure.ts";
import { openStore } from "../../src/store/open.ts";
import type { Store } from "../../src/store/admin/store.ts";
import { RUN_BOUNDS_MS, runBucket } from "../../src/store/port/metrics.ts";
import type { Outcome } from "../../src/store/port/outcomes.ts";
import { fillGroups, GROUP_CLASSES, GROUP_QUEUES } from "./shop_groups.ts";
import { workerRecord } from "./site.ts";
import { keepRecord } from "../support/records.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
/** The end of the history. Filling it takes a while: minutes counted from each moment would leave gaps. */
const END = Date.now();

interface ShopClass {
  readonly name: string;
  readonly queue: string;
  /** The usual run time. */
  readonly runMs: number;
  /** Runs in a usual minute. */
  readonly perMinute: number;
  /** Of 1,000 runs, how many fail. */
  readonly failing: number;
  readonly args: (i: number) => unknown[];
  readonly error: (i: number) => readonly [name: string, message: string];
  readonly result?: (i: number) => unknown;
}

const PARTNERS = ["hooks.parcelwise.example", "api.ledgerly.example", "events.warehouse.example"];
const SKUS = ["oak-chair", "linen-duvet", "brass-lamp", "wool-rug", "walnut-desk", "clay-vase"];
const NAMES = ["mara", "jonas", "li.wei", "amira", "tomás", "freya", "samuel", "noor"];

const order = (i: number) => 48_210 + i * 7;
const pick = <T>(all: readonly T[], i: number): T => all[i % all.length]!;

/** The classes of the shop's jobs. */
export const SHOP: readonly ShopClass[] = [
  {
    name: "Mailer::OrderConfirmation",
    queue: "mail",
    runMs: 180,
    perMinute: 42,
    failing: 4,
    args: (i) => [{ order: order(i), to: `${pick(NAMES, i)}@mail.example`, locale: pick(["en", "de", "fr"], i) }],
    error: () => ["SMTPError", "451 4.7.1 Greylisted, try again in 300 seconds"],
    result: (i) => ({ messageId: `<${order(i)}.${i * 131}@shop.example>` }),
  },
  {
    name: "Images::Resize",
    queue: "images",
    runMs: 900,
    perMinute: 26,
    failing: 9,
    args: (i) => [`products/${pick(SKUS, i)}-${i % 9}.jpg`, { widths: [320, 640, 1280] }],
    error: (i) => ["ImageError", `Unsupported colour profile in products/${pick(SKUS, i)}-${i % 9}.jpg`],
    result: () => ({ files: 3, bytes: 412_880 }),
  },
  {
    name: "Webhooks::Deliver",
    queue: "webhooks",
    runMs: 320,
    perMinute: 35,
    failing: 61,
    args: (i) => [`https://${pick(PARTNERS, i)}/orders`, { event: "order.paid", order: order(i) }],
    error: (i) => ["HTTPError", `503 Service Unavailable from https://${pick(PARTNERS, i)}/orders`],
    result: () => ({ status: 200, bytes: 18 }),
  },
  {
    name: "Invoices::Create",
    queue: "billing",
    runMs: 1_400,
    perMinute: 11,
    failing: 6,
    args: (i) => [{ order: order(i), currency: pick(["EUR", "CHF", "GBP"], i) }],
    error: (i) => ["TaxRateMissing", `No VAT rate for ${pick(["NO", "IS", "LI"], i)} on 2026-11-21`],
    result: (i) => ({ invoice: `2026-${order(i)}`, pages: 2 }),
  },
  {
    name: "Imports::Products",
    queue: "imports",
    runMs: 42_000,
    perMinute: 0.4,
    failing: 40,
    args: (i) => [{ supplier: pick(["nordholz", "linea", "kiln & co"], i), file: `catalogue-${i % 30}.csv` }],
    error: (i) => ["CSVError", `Row ${1_200 + i}: column "price" is empty`],
    result: (i) => ({ rows: 8_000 + i * 13, updated: 340 }),
  },
  {
    name: "Search::Reindex",
    queue: "default",
    runMs: 60,
    perMinute: 58,
    failing: 1,
    args: (i) => [pick(SKUS, i), i % 2 === 0 ? "price" : "stock"],
    error: () => ["ConnectionError", "connect ECONNREFUSED 10.0.4.12:9200"],
    result: () => null,
  },
];

const WORKERS = [
  { id: "jobs-1.shop:4711:8c5a", concurrency: 10, rss: 148, busy: 7, version: "0.1.0" },
  { id: "jobs-2.shop:4702:11fe", concurrency: 10, rss: 139, busy: 4, version: "0.1.0" },
  { id: "jobs-3.shop:988:70c1", concurrency: 4, rss: 96, busy: 1, version: "0.1.0" },
] as const;

const QUEUES = [...new Set(SHOP.map(({ queue }) => queue))];

/** Fills an empty store with the shop's current jobs; with the `url` of a SQLite store, also with its history. */
export async function fillShop(store: Store, url?: string): Promise<void> {
  if (url !== undefined) await past(url);
  const client = new Client({ store });
  await heartbeats(store);
  await failures(store, client, url);
  await fillGroups(store, WORKERS[2].id);
  await finished(store);
  await schedules(store, client, url);
  await waiting(store, client);
  await people(store, url);
  await runSome(store);
}

/** Ninety days of totals, and one day of runs for each class. */
async function past(url: string): Promise<void> {
  {
    using database = new DatabaseSync(url.slice("sqlite:".length), { timeout: 5_000 });
    const add = database.prepare("INSERT OR REPLACE INTO total (name, count) VALUES (?, ?)");
    for (let ago = 1; ago < 90; ago++) {
      const day = new Date(Date.now() - ago * DAY_MS);
      const isWeekend = [0, 6].includes(day.getUTCDay());
      const processed = Math.round((isWeekend ? 151_000 : 236_000) * (1 + 0.12 * Math.sin(ago * 1.7)) - 400 * ago);
      add.run(`processed:${day.toISOString().slice(0, 10)}`, processed);
      add.run(`failed:${day.toISOString().slice(0, 10)}`, Math.round(processed * (ago === 11 ? 0.09 : 0.013)));
    }
  }
  for (let ago = 24 * 60; ago >= 0; ago -= ago > 120 ? 10 : 1) await pastStep(url, ago, ago > 120 ? 10 : 1);
}

/** Opens the store with a clock in the past. */
async function openAt(url: string, agoMs: number): Promise<Store> {
  const now = END - agoMs;
  const clock: Clock = { ...systemClock, now: () => now };
  return await openStore(url, { clock });
}

async function pastStep(url: string, ago: number, minutes: number): Promise<void> {
  await using store = await openAt(url, ago * MINUTE_MS);
  const now = END - ago * MINUTE_MS;
  const load = 1 + 0.5 * Math.sin((now / DAY_MS) * 2 * Math.PI - 2) + 0.12 * Math.sin(ago / 7);
  await store.series.add(
    "classes",
    SHOP.map((one, i) => {
      const isIncident = one.name === "Webhooks::Deliver" && ago < 75;
      const processed = Math.max(0, Math.round(one.perMinute * minutes * load * (1 + 0.1 * Math.sin(ago + i))));
      const failed = Math.min(processed, Math.round(processed * (isIncident ? 0.31 : one.failing / 1_000)));
      // Runs are slower under load, and during the incident.
      const runMs = one.runMs * load * (isIncident ? 2.6 : 1);
      return { class: one.name, processed, failed, ...runTimes(processed - failed, runMs, ago) };
    }),
  );
  await store.series.add(
    "queues",
    SHOP.map(({ queue }, i) => {
      const size = Math.max(0, Math.round((i === 1 ? 160 : 12) * load * (1 + 0.4 * Math.sin(ago / 5 + i))));
      return { queue, size, latencyMs: size * 34 };
    }),
  );
}

/** The times of `count` runs, spread around the usual one: each is in the sum and in one bucket. */
function runTimes(count: number, usualMs: number, ago: number): { workedMs: number; histogram: number[] } {
  const histogram = new Array<number>(RUN_BOUNDS_MS.length + 1).fill(0);
  let workedMs = 0;
  for (let i = 0; i < count; i++) {
    const share = 0.01 + 0.98 * ((i * 0.618 + ago * 0.377) % 1);
    const ms = Math.round(usualMs * Math.exp(0.35 * Math.log(share / (1 - share))));
    histogram[runBucket(ms)]!++;
    workedMs += ms;
  }
  return { workedMs, histogram };
}

async function heartbeats(store: Store): Promise<void> {
  for (const { id, concurrency, rss, version } of WORKERS) {
    await store.workers.heartbeat(
      record(id, { concurrency, version, rss: rss * 1024 * 1024 }),
      600_000,
    );
  }
}

function record(id: string, more: Parameters<typeof workerRecord>[1]) {
  const [hostname, pid] = id.split(":");
  return workerRecord(id, {
    hostname: hostname!,
    pid: Number(pid),
    tag: "shop",
    queues: [...QUEUES, ...GROUP_QUEUES],
    weights: {},
    startedAt: Date.now() - 26 * 3_600_000 - Number(pid) * 1_000,
    classes: [...SHOP.map(({ name }) => name), ...GROUP_CLASSES],
    ...more,
  });
}

/** Failed jobs: most wait for a retry, some are dead. */
async function failures(store: Store, client: Client, url: string | undefined): Promise<void> {
  const worker = WORKERS[0].id;
  const failing = [[2, 46, 21], [1, 9, 6], [0, 7, 0], [3, 5, 9], [4, 2, 3]] as const;
  for (const [which, retrying, dead] of failing) {
    const one = SHOP[which]!;
    for (let i = 0; i < retrying + dead; i++) await client.push(one.name, one.args(i), { queue: one.queue });
    const leases = await store.jobs.take({ queues: [one.queue], limit: retrying + dead, worker });
    const now = Date.now();
    const outcomes = leases.map(({ token, payload }, i): Outcome => {
      const [error_class, error_message] = one.error(i);
      const isDead = i >= retrying;
      const count = isDead ? 5 : 1 + i % 4;
      const lastAgo = isDead ? deadAgoMs(i) / 1_000 : 20 + 37 * i;
      const errors = Array.from({ length: count }, (_, n) => ({
        at: Math.round(now / 1_000 - lastAgo) - (count - 1 - n) ** 4 - 15 * (count - 1 - n),
        error_class,
        error_message,
        worker: `jobs-${1 + n % 2}.shop:${n % 2 === 0 ? 4711 : 4702}`,
        ms: Math.round(one.runMs * (0.7 + (n * 37 + i * 11) % 90 / 100)),
      }));
      const failed = JSON.stringify({
        ...JSON.parse(payload),
        created_at: now - lastAgo * 1_000 - count ** 4 * 1_000,
        enqueued_at: now - lastAgo * 1_000 - 900,
        failed_at: errors[0]!.at * 1_000,
        retried_at: errors.at(-1)!.at * 1_000,
        retry_count: count - 1,
        retry: isDead ? 4 : 25,
        error_class,
        error_message,
        errors,
        error_backtrace: encodeBacktrace([
          `at deliver (/srv/shop/jobs/${one.queue}.js:48:11)`,
          `at async ${one.name.replace("::", ".")} (/srv/shop/jobs/handlers.js:112:5)`,
          "at async Processor.perform (jobs/server/work/processor.ts:201:9)",
        ]),
        ...(i % 5 === 0 && { tags: ["checkout"] }),
      });
      return isDead
        ? { token, kind: "bury", payload: failed }
        : { token, kind: "retry", delayMs: 150_000 + 23_000 * i, payload: failed };
    });
    await store.jobs.settle(worker, outcomes.filter(({ kind }) => kind === "retry"));
    const buried = outcomes.filter(({ kind }) => kind === "bury");
    for (const [i, outcome] of buried.entries()) {
      await using then = url === undefined ? undefined : await openAt(url, deadAgoMs(retrying + i));
      await (then ?? store).jobs.settle(worker, [outcome]);
    }
  }
}

/** How long ago a dead job failed for the last time. */
function deadAgoMs(i: number): number {
  return HOUR_MS * (0.3 + (i * 1.7) % 31);
}

/** Records of ended jobs. */
async function finished(store: Store): Promise<void> {
  const records = Array.from({ length: 90 }, (_, n) => {
    const i = 89 - n;
    const one = pick(SHOP, i * 5 + Math.floor(i / 7));
    const elapsed = Math.round(one.runMs * (0.6 + (i * 37 % 100) / 90));
    const ended = Date.now() - i * 1_700;
    const [error_class, error_message] = one.error(i);
    const jid = `5f1c${i.toString(16).padStart(4, "0")}9d2e77a0b3c4d5e6`;
    const failed = i % 17 === 3;
    return {
      jid,
      ttlMs: 3_600_000,
      body: JSON.stringify({
        jid,
        class: one.name,
        queue: one.queue,
        state: failed ? "failed" : i % 29 === 11 ? "cancelled" : "succeeded",
        payload: {
          class: one.name,
          args: one.args(i),
          queue: one.queue,
          created_at: ended - elapsed - 800,
          enqueued_at: ended - elapsed - 600,
        },
        attempt: 1,
        worker: pick(WORKERS, i).id,
        startedAt: ended - elapsed,
        endedAt: ended,
        elapsedMs: elapsed,
        ...(failed
          ? {
            error: {
              class: error_class,
              message: error_message,
              stack: [`at deliver (/srv/shop/jobs/${one.queue}.js:48:11)`],
            },
          }
          : { result: one.result?.(i) }),
        log: [`Started order ${order(i)}`, "Done"],
      }),
    };
  });
  for (const record of records) await keepRecord(store, record);
}

async function waiting(store: Store, client: Client): Promise<void> {
  const sizes = [14, 212, 31, 3, 2, 8];
  for (const [which, size] of sizes.entries()) {
    const { name, queue, args } = SHOP[which]!;
    await client.pushBulk({ class: name, args: Array.from({ length: size }, (_, i) => args(i)), queue });
  }
  for (let i = 0; i < 24; i++) {
    await client.push("Cart::Reminder", [{ cart: 9_120 + i, to: `${pick(NAMES, i)}@mail.example` }], {
      in: 600 + 410 * i,
      queue: "mail",
    });
  }
  await store.admin.configure("webhooks", { limit: { running: 8 } });
}

/** The last runs of cron entries: how their jobs ended, and how long ago. */
const RUNS = [["daily report", "default", "succeeded", 70], ["expire carts", "default", "succeeded", 4], [
  "rotate exports",
  "default",
  "dead",
  1_500,
]] as const;

async function schedules(store: Store, client: Client, url: string | undefined): Promise<void> {
  const crontab = new Crontab({ store, client });
  await crontab.add({ name: "daily report", class: "Reports::Daily", rule: "0 6 * * *", timezone: "Europe/Zurich" });
  await crontab.add({ name: "sync stock", class: "Imports::Products", every: "5m", queue: "imports" });
  await crontab.add({ name: "expire carts", class: "Cart::Expire", rule: "*/15 * * * *" });
  await crontab.add({ name: "monthly invoices", class: "Invoices::Create", rule: "30 6 1 * *", queue: "billing" });
  await crontab.add({ name: "rotate exports", class: "Exports::Rotate", rule: "0 2 * * 0" });
  for (const [name, queue, state, minutesAgo] of RUNS) {
    await using then = url === undefined ? undefined : await openAt(url, minutesAgo * MINUTE_MS);
    await endRun(then ?? store, { name, queue, state });
  }
  await crontab.pause("rotate exports");
  await crontab.run("sync stock");
}

/** Runs a cron entry whose queue is empty, and ends its job. */
async function endRun(store: Store, { name, queue, state }: Readonly<Record<"name" | "queue" | "state", string>>) {
  const worker = WORKERS[1].id;
  const jid = (await new Crontab({ store, client: new Client({ store, onUnregistered: () => {} }) }).run(name))!;
  const [lease] = await store.jobs.take({ queues: [queue], limit: 1, worker });
  const body = { jid, class: JSON.parse(lease!.payload).class, queue, state, endedAt: Date.now(), elapsedMs: 1_840 };
  const record = { jid, ttlMs: 2 * DAY_MS, body: JSON.stringify(body) };
  await store.jobs.settle(worker, [{ kind: "ack", token: lease!.token, jid, occurrence: name, record }]);
}

async function people(store: Store, url: string | undefined): Promise<void> {
  const ago = [190, 171, 66, 64, 37, 21, 4];
  const record = async (event: AuditEvent) => {
    await using then = url === undefined ? undefined : await openAt(url, ago.shift()! * MINUTE_MS);
    await recordEvent(then ?? store, event);
  };
  const mara = { user: "mara", by: "cookie", from: "10.0.3.17" };
  await record({
    user: "deploy",
    by: "token",
    from: "10.0.0.4",
    action: "quiet",
    target: "all workers",
    count: 3,
  });
  await record({
    user: "deploy",
    by: "token",
    from: "10.0.0.4",
    action: "resume",
    target: "all workers",
    count: 3,
  });
  await record({ ...mara, action: "pause", target: "queue:webhooks", details: "for 10m" });
  await record({ ...mara, action: "limit", target: "queue:webhooks", details: "8 at once" });
  await record({
    ...mara,
    action: "retry",
    target: 'all dead jobs with class "Invoices::Create" and error "TaxRateMissing: *"',
    count: 212,
  });
  await record({
    ...mara,
    action: "cancel",
    target: "1a200560633749ddc0f007ba",
    details: "at jobs-1",
    count: 1,
  });
  await record({
    user: "jonas",
    by: "command line",
    from: "ops-1",
    action: "cron run",
    target: "sync stock",
    details: "job 99d1",
  });
}

/** Each worker takes some of the waiting jobs. */
async function runSome(store: Store): Promise<void> {
  for (const { id, concurrency, rss, busy, version } of WORKERS) {
    const leases = await store.jobs.take({ queues: QUEUES.toReversed(), limit: busy, worker: id });
    const work = leases.map(({ payload, queue }, i) => {
      const isImport = queue === "imports";
      const done = (1_380 * (i + 1) + 417).toLocaleString("en-US");
      return {
        task: `processor-${i + 1}`,
        queue,
        payload,
        since: Date.now() - (isImport ? 21_000 * (i + 1) : 400 + 730 * i),
        ...(isImport && {
          progress: `${done} of 8,120 rows`,
          lastLine: `Row ${done}: updated ${pick(SKUS, i)}`,
          log: [`Opened catalogue-${i}.csv`, "8,120 rows, 12 columns", `Row ${done}: updated ${pick(SKUS, i)}`],
        }),
      };
    });
    await store.workers.heartbeat(
      record(id, { concurrency, version, rss: rss * 1024 * 1024, busy: work.length, work }),
      600_000,
    );
  }
}
