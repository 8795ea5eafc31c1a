/**
 * Edits on Redis: how much of a long queue a script walks through, edits while jobs are taken, and lost replies.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { getField } from "../src/job/raw.ts";
import { cancelJob } from "../src/store/ops/cancel.ts";
import type { Place } from "../src/store/port/entries.ts";
import { openStore, type StoreOptions } from "../src/store/open.ts";
import { entries, HOUR_MS, jid, job, jobs, numbers, register, takeUpTo } from "./store_contract/jobs.ts";
import { digestOf, formatRef } from "../src/store/redis/refs.ts";
import { startRedis } from "./support/redis.ts";
import { TcpProxy } from "./support/tcp_proxy.ts";
import type { Store } from "../src/store/admin/store.ts";

const redis = await startRedis();
Deno.test.afterAll(async () => await redis[Symbol.asyncDispose]());

const QUEUE: Place = { in: "queue", queue: "default" };

async function openEmpty(options: StoreOptions = {}): Promise<Store> {
  await redis.cli("FLUSHALL");
  return await openStore(redis.url, options);
}

/** Fills the queue with jobs 1 to `count`, the first at its front. */
async function fill(count: number): Promise<void> {
  const script = `
    redis.call('SADD', 'queues', 'default')
    for n = 1, ARGV[1] do
      redis.call('LPUSH', 'queue:default', string.format('{"class":"A","args":[%d],"jid":"%024x"}', n, n))
    end`;
  await redis.cli("EVAL", script, "0", `${count}`);
}

/** The refs of positions `from` to `to` of the queue of {@linkcode fill}, as a list of the queue returns them. */
function refsAt(from: number, to: number): string[] {
  const positions = Array.from({ length: to - from + 1 }, (_, i) => from + i);
  return positions.map((at) => refOf(`{"class":"A","args":[${at + 1}],"jid":"${jid(at + 1)}"}`, at));
}

function refOf(payload: string, position: number): string {
  return formatRef({ in: "queue", queue: "default", digest: digestOf(payload), position });
}

/** Every command that Redis runs meanwhile, including those of scripts, in order: its name and arguments. */
async function commandsDuring(run: () => Promise<unknown>): Promise<string[][]> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port: redis.port });
  await connection.write(new TextEncoder().encode("MONITOR\r\n"));
  const end = crypto.randomUUID();
  const decoder = new TextDecoder();
  const buffer = new Uint8Array(1 << 16);
  let text = "";
  const readUntil = async (wanted: string) => {
    while (!text.includes(wanted)) {
      const count = await connection.read(buffer);
      text += decoder.decode(buffer.subarray(0, count ?? 0), { stream: true });
    }
  };
  await readUntil("+OK\r\n");
  await Promise.all([readUntil(end), run().finally(() => redis.cli("ECHO", end))]);
  return text.split("\r\n").map((line) => [...line.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, one]) => one!));
}

/** The walks of each script: the counts of its LREM commands. */
function walksOf(commands: readonly string[][]): { readonly walks: string[]; readonly marks: number }[] {
  const scripts: { walks: string[]; marks: number }[] = [];
  for (const [name, , count] of commands) {
    if (name === "EVALSHA" || name === "EVAL") scripts.push({ walks: [], marks: 0 });
    if (name === "LREM") scripts.at(-1)!.walks.push(count!);
    if (name === "LSET") scripts.at(-1)!.marks++;
  }
  return scripts.filter(({ marks }) => marks > 0);
}

Deno.test("redis edit: deletes jobs near the front of a queue in one walk", async () => {
  await using store = await openEmpty();
  await fill(3_000);
  const front = refsAt(0, 99);
  const commands = await commandsDuring(async () => {
    assertEquals(await store.jobs.edit(front, "delete"), 100);
  });
  assertEquals(walksOf(commands), [{ walks: ["-100"], marks: 100 }]);
  assertEquals(numbers((await store.admin.page(QUEUE, { limit: 2 })).entries), [101, 102]);
});

Deno.test("redis edit: deletes jobs deep in a queue with one walk for 20, from the nearer end", async () => {
  await using store = await openEmpty();
  await fill(5_000);
  const deep = [...refsAt(2_100, 2_129), ...refsAt(4_000, 4_029)];
  const commands = await commandsDuring(async () => {
    assertEquals(await store.jobs.edit(deep, "delete"), 60);
  });
  assertEquals(walksOf(commands), [
    { walks: ["-20"], marks: 20 },
    { walks: ["-10", "10"], marks: 20 },
    { walks: ["20"], marks: 20 },
  ]);
  assertEquals((await store.admin.stats()).enqueued, 4_940);
});

Deno.test("redis edit: a script walks through one half of a long queue", async () => {
  await using store = await openEmpty();
  await fill(110_000);
  const middle = [...refsAt(54_000, 54_009), ...refsAt(55_990, 55_999)];
  const commands = await commandsDuring(async () => {
    assertEquals(await store.jobs.edit(middle, "requeue"), 20);
  });
  assertEquals(walksOf(commands), [{ walks: ["-10"], marks: 10 }, { walks: ["10"], marks: 10 }]);
  const last = await store.admin.page(QUEUE, { limit: 21, reverse: true });
  assertEquals(numbers(last.entries).reverse(), [
    110_000,
    ...Array.from({ length: 20 }, (_, i) => (i < 10 ? 54_001 : 55_981) + i),
  ]);
});

Deno.test("redis edit: reads a queue once for all entries that have left it", async () => {
  await using store = await openEmpty();
  await fill(5_000);
  const gone = refsAt(5_000, 5_099);
  const commands = await commandsDuring(async () => {
    assertEquals(await store.jobs.edit(gone, "delete"), 0);
  });
  const reads = commands.filter(([name]) => name === "LRANGE").length;
  assert(reads <= gone.length + 20, `${reads} reads`);
});

Deno.test("redis edit: ignores a ref with an absurd position", async () => {
  await using store = await openEmpty();
  await fill(10);
  const ref = refOf("gone", Number.MAX_SAFE_INTEGER);
  assertEquals(await store.jobs.edit([ref], "delete"), 0);
  assertEquals(await store.admin.get([ref]), [undefined]);
});

Deno.test("redis edit: each job is edited or taken once while workers take and release jobs", async () => {
  await using store = await openEmpty();
  await using other = await openStore(redis.url);
  await fill(10_000);
  const worker = await register(other);
  const refs = refsAt(0, 9_999).filter((_, i) => i % 50 === 49);
  const acknowledged: string[] = [];
  let isOver = false;
  const working = (async () => {
    while (!isOver) {
      const leases = await takeUpTo(other, worker, 50);
      await other.jobs.settle(
        worker,
        leases.map(({ token }, i) => i < 25 ? { kind: "ack", token } : { kind: "release", token }),
      );
      acknowledged.push(...leases.slice(0, 25).map(({ payload }) => String(getField(payload, "jid"))));
    }
  })();
  let edited = 0;
  for (let from = 0; from < refs.length; from += 40) {
    edited += await store.jobs.edit(refs.slice(from, from + 40), "delete");
  }
  isOver = true;
  await working;
  const left = (await entries(store, QUEUE, { limit: 1_000 })).map(({ payload }) => String(getField(payload, "jid")));
  const seen = [...acknowledged, ...left];
  assertEquals(seen.length, 10_000 - edited);
  assert(edited > 50, `${edited} edited`);
  const all = new Set(seen);
  assertEquals(all.size, seen.length, "none twice");
  const missing = jobs(1, 10_000).map((one) => one.jid).filter((one) => !all.has(one));
  assertEquals(missing.filter((one) => parseInt(one, 16) % 50 !== 0), []);
});

/** Repeats a case, with the connection cut one reply later each time. */
async function withEachAnswerLost(run: (store: Store, cut: () => void) => Promise<void>): Promise<void> {
  await using proxy = await TcpProxy.start(redis.port);
  for (let bytes = 0; bytes < 500; bytes += 20) {
    await redis.cli("FLUSHALL");
    await using store = await openStore(`redis://127.0.0.1:${proxy.port}/0`);
    await run(store, () => proxy.cutNextAnswer(bytes));
  }
}

Deno.test("redis edit: an edit whose reply was lost doesn't edit a second, identical job", async () => {
  await withEachAnswerLost(async (store, cut) => {
    const alike = { payload: '{"class":"A","args":[0]}' };
    await store.jobs.enqueue([job(1, { delayMs: HOUR_MS }), job(2)]);
    await redis.cli("LPUSH", "queue:default", ...Array(3).fill(alike.payload));
    const [, first] = (await store.admin.page(QUEUE)).entries;
    cut();
    assertEquals(await store.jobs.edit([first!.ref], "delete"), 1);
    assertEquals(await redis.cli("LLEN", "queue:default"), "3");
  });
});

Deno.test("redis edit: a cancel whose reply was lost reports the job as removed", async () => {
  await withEachAnswerLost(async (store, cut) => {
    await store.jobs.enqueue([job(1), job(2, { delayMs: HOUR_MS })]);
    for (const n of [1, 2]) {
      cut();
      assertEquals(await cancelJob(store, jid(n), Date.now()), "removed");
      assert((await store.results.read({ jids: [jid(n)] })).records[0]?.includes('"cancelled"'));
    }
  });
});

Deno.test("redis edit: byte-identical jobs move to a set with few commands each, and stay short", async () => {
  await using store = await openEmpty();
  const payload = '{"class":"A","args":[]}';
  await redis.cli("EVAL", "for _ = 1, 1000 do redis.call('LPUSH', 'queue:default', ARGV[1]) end", "0", payload);
  await redis.cli("CONFIG", "RESETSTAT");
  assertEquals(await store.jobs.edit({ in: QUEUE, limit: 1_000 }, "kill"), 1_000);
  const stats = await redis.cli("INFO", "commandstats");
  const calls = Number(/cmdstat_zscore:calls=(\d+)/.exec(stats)![1]);
  assert(calls < 25_000, `${calls} calls`);
  const dead = (await store.admin.page({ in: "dead" }, { limit: 2_000 })).entries;
  assertEquals(dead.length, 1_000);
  assert(dead.every((entry) => entry.payload.trimEnd() === payload && entry.payload.length < payload.length + 10));
});

Deno.test("redis edit: a lowered limit of dead jobs drops at most 1,000 of them per step", async () => {
  await using store = await openEmpty({ deadMaxJobs: 10 });
  const script =
    `for n = 1, 2500 do redis.call('ZADD', 'dead', ARGV[1] + n / 1000, '{"class":"A","n":' .. n .. '}') end`;
  await redis.cli("EVAL", script, "0", `${Date.now() / 1_000 - 3_600}`);
  const sizes: number[] = [];
  for (const n of [1, 2, 3]) {
    await store.jobs.enqueue([job(n)]);
    await store.jobs.edit({ in: QUEUE, limit: 1 }, "kill");
    sizes.push((await store.admin.stats()).dead);
  }
  assertEquals(sizes, [1_501, 502, 10]);
});
