/**
 * Measures cron entries on one store: additions, memory, pages, an idle worker, and 1,000 entries that are due in the
 * same second. Prints one line of JSON.
 *
 *     deno run -A tests/bench/schedules_load.ts STORE-URL COUNT
 */
import { Client } from "../../src/client/client.ts";
import { Crontab } from "../../src/client/crontab.ts";
import { systemClock } from "../../src/clock.ts";
import { definitionText, indexOf, stateText } from "../../src/cron/definition.ts";
import { checkEntries } from "../../src/cron/entry_check.ts";
import { plan } from "../../src/cron/plan.ts";
import { getField, readWireTime } from "../../src/job/raw.ts";
import type { Store } from "../../src/store/admin/store.ts";
import { openStore } from "../../src/store/open.ts";
import type { CronWrite } from "../../src/store/port/cron.ts";
import { createWeb } from "../../src/web/web.ts";
import { parseAddress } from "../../src/store/postgres/address.ts";
import { Client as Postgres } from "../../src/store/postgres/client.ts";
import { connectTo } from "../support/redis_whole.ts";
import { until } from "../support/eventually.ts";
import { startObserved } from "./observed_worker.ts";
import { spreadOf } from "./measure.ts";

/** The costs. Times are milliseconds, medians. */
export interface ScheduleCosts {
  /** Entries per second in writes of 100. */
  readonly loadedPerSecond: number;
  readonly bytesPerEntry: number;
  /** `crontab.add` of one entry. */
  readonly addMs: number;
  /** A page of the API by name, from the middle, and the dashboard's `/cron`. */
  readonly pageMs: number;
  readonly webMs: number;
  /** Share of a core that an idle worker uses, in percent. */
  readonly idlePercent: number;
  /** How long after their time the last of 1,000 entries of one second was enqueued. */
  readonly lateMs: number;
  /** Processor time of the worker for each of them. */
  readonly dueCpuMs: number;
  /** Redis: the longest script. */
  readonly scriptMs?: number;
}

const DUE = 1_000;
const WRITES = 1_000;
const IDLE_MS = 15_000;
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Returns the write that adds the entry of a customer. */
function writeOf(name: string, rule: string, now: number): CronWrite {
  const input = {
    name,
    rule,
    timezone: "Europe/London",
    class: "Noop",
    args: [name],
    queue: "unread",
    tags: ["report"],
  };
  const { active: [entry] } = checkEntries([input], { environment: "" });
  const definition = { ...entry!, source: "runtime" as const };
  const { state, next } = plan(definition, undefined, now);
  const stored = { state: stateText(state, definition.schedule), next, ...indexOf(definition) };
  return {
    name,
    version: 0,
    definition: definitionText(entry!, "runtime"),
    jobs: [],
    awaited: false,
    records: [],
    ...stored,
  };
}

async function median(times: number, run: (index: number) => Promise<unknown>): Promise<number> {
  const taken: number[] = [];
  for (let index = 0; index < times; index++) {
    const start = performance.now();
    await run(index);
    taken.push(performance.now() - start);
  }
  return Math.round(spreadOf(taken).median * 100) / 100;
}

/** Returns the size of the store: memory of Redis, pages of SQLite, the database of PostgreSQL. */
export async function sizeOf(url: string): Promise<number> {
  if (url.startsWith("redis")) {
    const connection = await connectTo(Number(new URL(url).port));
    const info = String(await connection.send(["INFO", "memory"]));
    connection.destroy();
    return Number(/used_memory:(\d+)/.exec(info)![1]);
  }
  if (url.startsWith("sqlite")) {
    const file = url.slice("sqlite:".length);
    const sizes = await Promise.all(
      [file, `${file}-wal`].map((path) => Deno.stat(path).then(({ size }) => size, () => 0)),
    );
    return sizes[0]! + sizes[1]!;
  }
  const client = await Postgres.create(parseAddress(url), { waitMs: 10_000 });
  const [row] = await client.run("SELECT pg_database_size(current_database()) AS size");
  await client.close();
  return Number(row!.size);
}

async function load(store: Store, count: number): Promise<number> {
  const { now } = await store.cron.page({ limit: 1 });
  const hours = new Date(now + 12 * 3_600_000).getUTCHours();
  const start = performance.now();
  for (let from = 0; from < count; from += WRITES) {
    await store.cron.write(
      Array.from({ length: Math.min(WRITES, count - from) }, (_, i) => {
        const number = from + i;
        return writeOf(`customer-${String(number).padStart(7, "0")}`, `${number % 60} ${hours} * * *`, now);
      }),
    );
  }
  return performance.now() - start;
}

if (import.meta.main) {
  const [url, counted] = Deno.args;
  const count = Number(counted);
  await using store = await openStore(url!);
  const client = new Client({ store, onUnregistered: () => {} });
  const crontab = new Crontab({ store, client });
  const isRedis = url!.startsWith("redis");
  if (isRedis) {
    const connection = await connectTo(Number(new URL(url!).port));
    await connection.send(["CONFIG", "SET", "slowlog-log-slower-than", "1000"]);
    await connection.send(["SLOWLOG", "RESET"]);
    connection.destroy();
  }
  const before = await sizeOf(url!);
  const loadMs = await load(store, count);
  const bytesPerEntry = Math.round((await sizeOf(url!) - before) / count);
  const addMs = await median(100, (index) => crontab.add({ name: `later-${index}`, rule: "0 0 1 1 *", class: "Noop" }));
  const cursor = `customer-${String(count >> 1).padStart(7, "0")}`;
  const pageMs = await median(20, () => crontab.page({ cursor, limit: 100 }));
  await using web = createWeb({ store, clock: systemClock });
  const webMs = await median(10, async () => {
    const reply = await web.handle(new Request("http://localhost/cron"), "127.0.0.1");
    if (!(await reply.text()).includes("customer-")) throw new Error(`/cron failed with ${reply.status}`);
  });
  await using worker = await startObserved(store);
  await sleep(3_000);
  const idleFrom = await worker.cpuMs();
  await sleep(IDLE_MS);
  const idlePercent = Math.round((await worker.cpuMs() - idleFrom) / IDLE_MS * 10_000) / 100;
  const { now } = await store.cron.page({ limit: 1 });
  const due = new Date(Math.ceil(now / 1_000) * 1_000 + 6_000);
  const rule = `${due.getUTCSeconds()} ${due.getUTCMinutes()} * * * *`;
  await store.cron.write(Array.from({ length: DUE }, (_, i) => writeOf(`due-${i}`, rule, now)));
  const dueFrom = await worker.cpuMs();
  await until(async () =>
    ((await store.admin.stats({ queues: ["unread"] })).queues.find(({ name }) => name === "unread")?.size ?? 0) >= DUE
  );
  const dueCpuMs = Math.round((await worker.cpuMs() - dueFrom) / DUE * 100) / 100;
  const { entries } = await store.admin.page({ in: "queue", queue: "unread" }, { limit: DUE });
  const enqueued = entries.map(({ payload }) => readWireTime(getField(payload, "enqueued_at"))!);
  const lateMs = Math.round(Math.max(...enqueued) - due.getTime());
  let scriptMs: number | undefined;
  if (isRedis) {
    const connection = await connectTo(Number(new URL(url!).port));
    const slow = await connection.send(["SLOWLOG", "GET", "128"]) as [number, number, number, string[]][];
    connection.destroy();
    scriptMs = Math.max(
      0,
      ...slow.filter(([, , , [verb]]) => /^EVAL/i.test(String(verb))).map(([, , micros]) => micros),
    ) / 1_000;
  }
  const costs: ScheduleCosts = {
    loadedPerSecond: Math.round(count / loadMs * 1_000),
    ...{ bytesPerEntry, addMs, pageMs, webMs, idlePercent, lateMs, dueCpuMs },
    ...(scriptMs !== undefined && { scriptMs }),
  };
  console.log(JSON.stringify(costs));
}
