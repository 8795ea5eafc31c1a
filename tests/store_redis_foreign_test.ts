/** On Redis: payloads that other programs have written, and counters that they have made. No script stops in the middle. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { checkBatch } from "../src/store/ops/batch_check.ts";
import { openStore } from "../src/store/open.ts";
import type { Store } from "../src/store/admin/store.ts";
import { HOUR_MS, jid, job, register, takeUpTo } from "./store_contract/jobs.ts";
import { type RedisServer, startRedis } from "./support/redis.ts";

const JID = "a".repeat(24);

/** Payloads of a job, as other programs may write them: each has a field that a script looks for, in a place or form of its choice. */
const PAYLOADS: Readonly<Record<string, string>> = {
  "debounce_key in the arguments": `{"class":"A","args":[{"debounce_key":"a b.c"}],"jid":"${JID}"}`,
  "debounce_key with other characters": `{"class":"A","args":[],"jid":"${JID}","debounce_key":"a b\\u00e9"}`,
  "debounce_key without a text": `{"class":"A","args":[],"jid":"${JID}","debounce_key":7}`,
  "debounce_key after a space": `{"class": "A", "args": [], "jid": "${JID}", "debounce_key": "k"}`,
  "a batch that doesn't exist": `{"class":"A","args":[],"jid":"${JID}","batch":"nope","batch_counted":"pending"}`,
  "a batch whose counter isn't a number":
    `{"class":"A","args":[],"jid":"${JID}","batch":"words","batch_counted":"pending"}`,
  "a batch that is another type": `{"class":"A","args":[],"jid":"${JID}","batch":"list","batch_counted":"pending"}`,
  "a batch of another type": `{"class":"A","args":[],"jid":"${JID}","batch":["b"],"batch_counted":{"a":1}}`,
  "a node of a flow that doesn't exist":
    `{"class":"A","args":[],"jid":"${JID}","batch":"nope","flow_node":"n","batch_counted":"pending"}`,
  "a parent without a step": `{"class":"A","args":[],"jid":"${JID}","parent":{"jid":"x"}}`,
  "a parent of another type": `{"class":"A","args":[],"jid":"${JID}","parent":["x"]}`,
  "steps that don't exist": `{"class":"A","args":[],"jid":"${JID}","has_steps":null}`,
  "a lock until its start":
    `{"class": "A", "args": [], "jid": "${JID}", "unique_until": "start", "on_duplicate": "replace"}`,
  "a lock of another type":
    `{"class":"A","args":[],"jid":"${JID}","unique_until":["start"],"on_duplicate":{"a":"replace"}}`,
  "a group of another type": `{"class":"A","args":[],"jid":"${JID}","group":{"a":1},"priority":[7]}`,
  "the same field twice":
    `{"class":"A","args":[],"jid":"${JID}","jid":"${JID}","batch_counted":7,"batch_counted":"dead"}`,
  "args of 1,100 levels": `{"class":"A","args":[${"[".repeat(1_100)}${
    "]".repeat(1_100)
  }],"jid":"${JID}","batch_counted":"dead"}`,
};

/** Hashes that another program made by adding to a counter, and keys of other types. */
async function makeForeignBatches(redis: RedisServer): Promise<void> {
  await redis.cli("HINCRBY", "jobs:batch:nope", "total", "1");
  await redis.cli("HINCRBY", "jobs:batch:nope", "pending", "1");
  await redis.cli("HSET", "jobs:batch:words", "id", "words", "pending", "many", "dead", "1e3");
  await redis.cli("RPUSH", "jobs:batch:list", "x");
}

/** Returns how many jobs of the test's jid are in each place. */
async function places(store: Store): Promise<string> {
  return (await store.jobs.find([JID])).map(({ place }) => place.in).sort().join(" ");
}

Deno.test("redis: a foreign payload is promoted, taken and settled, and each action of an operator leaves it in one place", async () => {
  await using redis = await startRedis();
  await makeForeignBatches(redis);
  await using store = await openStore(redis.url);
  const worker = await register(store);
  const act = async (edit: "requeue" | "kill" | "delete") => {
    const [entry] = await store.jobs.find([JID]);
    return await store.jobs.edit([entry!.ref], edit);
  };
  for (const [name, payload] of Object.entries(PAYLOADS)) {
    const later = Date.now() / 1_000 + 3_600;
    const due = async () => {
      await redis.cli("ZADD", "schedule", `${Date.now() / 1_000 - 10}`, payload);
      assertEquals((await store.jobs.promote(10)).moved, 1, name);
      const leases = await takeUpTo(store, worker, 10);
      assertEquals(leases.length, 1, name);
      return leases[0]!.token;
    };
    // Promoted, taken and settled in each way.
    const fields = { jid: JID, batch: { id: "nope", from: "pending", to: "succeeded" } } as const;
    const token = await due();
    await store.jobs.enqueue([job(7)]);
    const [other] = await takeUpTo(store, worker, 1);
    const settled = await store.jobs.settle(worker, [
      { kind: "ack", token, ...fields },
      { kind: "ack", token: other!.token },
    ]);
    assertEquals(settled.lost, [], name);
    assertEquals(await places(store), "", name);

    assertEquals((await store.jobs.settle(worker, [{ kind: "release", token: await due() }])).lost, [], name);
    const [again] = await takeUpTo(store, worker, 10);
    const retry = { kind: "retry", token: again!.token, delayMs: HOUR_MS, payload: again!.payload } as const;
    assertEquals((await store.jobs.settle(worker, [retry])).lost, [], name);
    assertEquals(await places(store), "retry", name);
    assertEquals(await act("kill"), 1, name);
    assertEquals(await places(store), "dead", name);
    assertEquals(await act("requeue"), 1, name);
    assertEquals(await places(store), "queue", name);
    const [buried] = await takeUpTo(store, worker, 10);
    const bury = { kind: "bury", token: buried!.token, payload: buried!.payload } as const;
    assertEquals((await store.jobs.settle(worker, [bury])).lost, [], name);
    assertEquals(await act("delete"), 1, name);
    assertEquals(await places(store), "", name);

    // In `schedule`: killed, requeued, deleted.
    for (const edit of ["kill", "requeue", "delete"] as const) {
      await redis.cli("ZADD", "schedule", `${later}`, payload);
      assertEquals(await act(edit), 1, `${name}: ${edit}`);
      assertEquals(await places(store), { kill: "dead", requeue: "queue", delete: "" }[edit], `${name}: ${edit}`);
      if (edit !== "delete") assertEquals(await act("delete"), 1, name);
    }
  }
});

Deno.test("redis: a signal, the end of a child and a wake reach a job whose JSON has spaces", async () => {
  await using redis = await startRedis();
  await using store = await openStore(redis.url);
  const worker = await register(store);
  for (const [i, jid] of [JID, "order/7 \\u00e9 b"].entries()) {
    for (const end of ["signal", "wake", "child"] as const) {
      await redis.cli("LPUSH", "queue:default", `{"class": "A", "args": [], "jid": "${jid}"}`);
      const [lease] = await takeUpTo(store, worker, 1);
      const real = JSON.parse(`"${jid}"`);
      const step = { worker, token: lease!.token, jid: real };
      const child = job(2 + i, { queue: "other" });
      const about = end === "child" ? `"kind":"child","child":"c"` : `"kind":"wait","key":"k"`;
      await store.steps.wait(step, {
        ...{ name: "w", about, forMs: HOUR_MS },
        ...(end === "child" ? { child } : { key: "k" }),
      });
      const payload = `{"class": "A", "args": [], "jid": "${jid}", "has_steps": true}`;
      const asleep = {
        kind: "snooze",
        token: lease!.token,
        jid: real,
        steps: true,
        delayMs: HOUR_MS,
        payload,
      } as const;
      await store.jobs.settle(worker, [asleep]);
      if (end === "signal") {
        assertEquals(await store.steps.signal({ key: "k", data: "1", ttlMs: HOUR_MS }), { reached: real });
      } else if (end === "wake") assertEquals(await store.steps.clear(real, "waits"), 1);
      else {
        const [other] = await takeUpTo(store, worker, 1, ["other"]);
        const parent = { jid: real, step: "w", child: "c", state: "succeeded", outcome: `"value":1` } as const;
        await store.jobs.settle(worker, [{ kind: "ack", token: other!.token, parent }]);
      }
      assertEquals((await store.jobs.promote(10)).moved, 1, `${jid} ${end}`);
      const [awake] = await takeUpTo(store, worker, 1);
      await store.jobs.settle(worker, [{ kind: "ack", token: awake!.token, jid: real, steps: true }]);
    }
  }
});

Deno.test("redis: a part of a batch that another program made doesn't stop the ends of others' members", async () => {
  await using redis = await startRedis();
  const callbacks = {
    success: { queue: "default", jid: "done", class: "Done", payload: `{"class":"Done","jid":"done","args":[]}` },
  };
  for (const made of [["HINCRBY", "jobs:batch:wrong", "pending", "1"], ["SET", "jobs:batch:wrong", "text"]]) {
    await redis.cli("FLUSHALL");
    await using store = await openStore(redis.url);
    const worker = await register(store);
    const id = "01J0000000000000000000000A";
    await store.batches.create({ id, tags: [], callbacks, closeWithinMs: 1e6, keepMs: 1e6 });
    const payload = (batch: string) =>
      `{"class":"A","jid":"${batch}","args":[],"batch":"${batch}","batch_counted":"pending"}`;
    await redis.cli(...made);
    await store.jobs.enqueue([
      job(1, { payload: payload("wrong") }),
      job(2, { payload: payload(id), batch: { id } }),
    ]);
    await store.batches.close(id, "closed");
    const leases = await takeUpTo(store, worker, 2);
    const result = await store.jobs.settle(
      worker,
      leases.map(({ token }, i) => ({
        kind: "ack",
        token,
        batch: { id: i === 0 ? "wrong" : id, from: "pending", to: "succeeded" },
      })),
    );
    assertEquals(result.lost, []);
    const done = (await store.batches.read({ ids: [id] })).batches[0];
    assertEquals([done?.pending, done?.succeeded, done?.state], [0, 1, "succeeded"]);
    assertEquals((await store.admin.stats()).enqueued, 1, "its callback is pushed");
  }
});

Deno.test("redis: a check finds members that Sidekiq's page deleted, and counters that another program changed", async () => {
  await using redis = await startRedis();
  const id = "01J0000000000000000000000A";
  const payload = (n: number) => `{"class":"A","jid":"${n}","args":[],"batch":"${id}","batch_counted":"pending"}`;
  await using store = await openStore(redis.url);
  await store.batches.create({ id, callbacks: {}, closeWithinMs: 1e9, keepMs: 1e9 });
  const places = [{}, { group: "g" }, { delayMs: 1e9 }, {}];
  await store.jobs.enqueue(places.map((place, n) => job(n, { payload: payload(n), batch: { id }, ...place })));
  const counted = async () => {
    const { result, pending } = (await checkBatch(store, id))!;
    const { total } = (await store.batches.read({ ids: [id] })).batches[0]!;
    return [result, pending, total];
  };
  assertEquals(await counted(), ["right", 4, 4]);
  await redis.cli("LPOP", "queue:default");
  assertEquals(await counted(), ["corrected", 3, 3]);
  for (const by of ["5", "-2"]) {
    await redis.cli("HINCRBY", `jobs:batch:${id}`, "pending", by);
    await redis.cli("HINCRBY", `jobs:batch:${id}`, "total", by);
    assertEquals(await counted(), ["corrected", 3, 3]);
  }
  // Too many bytes for one step: several readings find the same.
  await store.jobs.enqueue(
    [5, 6, 7, 8, 9].map((n) => job(n, { payload: `{"jid":"${n}","args":["${"x".repeat(1e6)}"]}` })),
  );
  assertEquals([await store.batches.count(id), await counted()], ["large", ["right", 3, 3]]);
  await redis.cli("DEL", "schedule");
  assertEquals([await counted(), await counted()], [["corrected", 2, 2], ["right", 2, 2]]);
});

Deno.test("redis: leases whose queue can't be written stay, and the others are rescued or released", async () => {
  await using redis = await startRedis();
  await using store = await openStore(redis.url);
  const worker = await register(store);
  await store.jobs.enqueue([job(1), job(2, { queue: "other" }), job(3)]);
  const [first, second, third] = await takeUpTo(store, worker, 3, ["default", "other"]);
  assertEquals([first, second, third].map((lease) => lease!.queue), ["default", "default", "other"]);
  await redis.cli("SET", "queue:other", "x");
  const leases = `jobs:leases:${worker}`;
  // Offline for long, and rescued by a worker with continuous heartbeats.
  await redis.cli("HSET", leases, "foreign", `{"class":"A","args":[],"jid":"${JID}"}`);
  await redis.cli("ZADD", "jobs:workers", "1", worker);
  const rescuer = await register(store, "host:2:bbbbbbbbbbbb");
  await redis.cli("HSET", `jobs:worker:${rescuer}`, "since", "1");
  const { rescued } = await store.jobs.rescue({ worker: rescuer, limit: 10, maxRescues: 3 });
  assertEquals(rescued, 3, "the one without a queue is in the default queue");
  assertEquals(await redis.cli("HKEYS", leases), third!.token);
  assertEquals((await store.admin.stats()).enqueued, 3);
  const { findings } = await store.admin.health();
  assertEquals(
    findings.filter(({ message }) => message.includes("1 part of a script was skipped")).length,
    1,
    JSON.stringify(findings),
  );
  assertEquals(findings.some(({ message }) => message.includes(third!.token)), true);
});

Deno.test("redis: health finds the unique lock of a job that another program deleted, and its cure frees it", async () => {
  await using redis = await startRedis();
  await using store = await openStore(redis.url);
  const push = (n: number, key: string, queue = "default") =>
    store.jobs.enqueue([job(n, { queue, unique: { key, ttlMs: HOUR_MS } })]);
  await push(1, "gone");
  await push(2, "kept", "other");
  await push(3, "taken", "taken");
  await takeUpTo(store, await register(store), 1, ["taken"]);
  const locks = async () =>
    (await store.admin.health()).findings.filter(({ message }) => message.includes("unique lock"));
  assertEquals(await locks(), []);
  await redis.cli("DEL", "queue:default");
  const [found] = await locks();
  assertStringIncludes(found!.message, `1 unique lock belongs to a job that no longer exists (${jid(1)})`);
  await redis.cli(...found!.cure.split(" ").slice(1).map((word) => word.startsWith('"') ? JSON.parse(word) : word));
  assertEquals(await locks(), []);
  await push(4, "gone");
  assertEquals((await store.jobs.find([jid(4)])).length, 1);
});

Deno.test("redis: a payload with bytes that aren't UTF-8 is never altered: it is buried with a reason, or rescued as it is", async () => {
  await using redis = await startRedis();
  await using store = await openStore(redis.url);
  const worker = await register(store);
  // The script writes them: \255 is a byte that no UTF-8 has.
  const has = async (key: string, command: string) =>
    await redis.cli(
      "EVAL",
      `for _, v in ipairs(redis.call(${command}, '${key}', 0, -1)) do
      if string.find(v, '{"class":"A","args":["\\255"]', 1, true) == 1 then return 1 end end return 0`,
      "0",
    );
  const taken = async () => {
    await redis.cli("FLUSHALL");
    await register(store);
    await redis.cli(
      "EVAL",
      `return redis.call('LPUSH', 'queue:default', '{"class":"A","args":["\\255"],"jid":"${JID}"}')`,
      "0",
    );
    return (await takeUpTo(store, worker, 1))[0]!;
  };
  for (const kind of ["retry", "snooze", "bury"] as const) {
    const { token, payload } = await taken();
    await store.jobs.settle(worker, [{ kind, token, payload, delayMs: HOUR_MS }]);
    assertEquals([await places(store), await has("dead", "'ZRANGE'")], ["dead", "1"], kind);
    const [entry] = await store.jobs.find([JID]);
    assertStringIncludes(entry!.payload, "aren't UTF-8");
  }
  await redis.cli("FLUSHALL");
  await register(store);
  await redis.cli("EVAL", `return redis.call('LPUSH', 'queue:default', 'no JSON \\255}')`, "0");
  const [raw] = await takeUpTo(store, worker, 1);
  await store.jobs.settle(worker, [{ kind: "bury", token: raw!.token, payload: raw!.payload }]);
  assertEquals(await redis.cli("EVAL", `return redis.call('ZSCORE', 'dead', 'no JSON \\255}') and 1`, "0"), "1");
  await taken();
  await redis.cli("ZADD", "jobs:workers", "1", worker);
  const rescuer = await register(store, "host:2:bbbbbbbbbbbb");
  await redis.cli("HSET", `jobs:worker:${rescuer}`, "since", "1");
  assertEquals((await store.jobs.rescue({ worker: rescuer, limit: 10, maxRescues: 3 })).rescued, 1);
  assertEquals(await has("queue:default", "'LRANGE'"), "1");
  // An error message may have the same character.
  await redis.cli("FLUSHALL");
  await register(store);
  await store.jobs.enqueue([job(1)]);
  const { token, payload } = (await takeUpTo(store, worker, 1))[0]!;
  const failed = payload.slice(0, -1) + `,"error_message":"\ufffd"}`;
  await store.jobs.settle(worker, [{ kind: "retry", token, payload: failed, delayMs: HOUR_MS }]);
  assertEquals((await store.jobs.find([jid(1)])).map(({ place }) => place.in), ["retry"]);
});

Deno.test("redis: a job that is buried for bytes that aren't UTF-8 releases its lock, and its batch counts it as dead, then as deleted", async () => {
  await using redis = await startRedis();
  await using store = await openStore(redis.url);
  for (const kind of ["retry", "snooze", "bury"] as const) {
    await redis.cli("FLUSHALL");
    const worker = await register(store);
    const batch = { id: jid(9), callbacks: {}, closeWithinMs: HOUR_MS, keepMs: HOUR_MS };
    await store.batches.create(batch);
    const unique = { key: "k".repeat(43), ttlMs: HOUR_MS };
    const fields = `"batch":"${batch.id}","batch_counted":"pending","unique_key":"${unique.key}"`;
    const text = `{"class":"A","args":["BYTE"],"jid":"${JID}",${fields}}`;
    await store.jobs.enqueue([{ jid: JID, queue: "default", payload: text, unique, batch: { id: batch.id } }]);
    await store.batches.close(batch.id, "closed");
    await redis.cli(
      "EVAL",
      `local v = redis.call('LPOP', 'queue:default') redis.call('LPUSH', 'queue:default', (string.gsub(v, 'BYTE', '\\255')))`,
      "0",
    );
    const { token, payload } = (await takeUpTo(store, worker, 1))[0]!;
    // As the worker settles it: it knows of the end only if it buries the job.
    const ends = kind === "bury" && {
      ...{ jid: JID, unlock: unique.key, batch: { id: batch.id, from: "pending", to: "dead" } as const },
      payload: payload.replace('"pending"', '"dead"'),
    };
    await store.jobs.settle(worker, [{ kind, token, payload, delayMs: HOUR_MS, ...ends }]);
    const counts = async () => {
      const { pending, dead, deleted, state } = (await store.batches.read({ ids: [batch.id] })).batches[0]!;
      return { pending, dead, deleted, state };
    };
    assertEquals(await counts(), { pending: 0, dead: 1, deleted: 0, state: "stuck" }, kind);
    assertEquals(await store.jobs.enqueue([{ ...job(1), unique }]), [{ kind: "stored" }], kind);
    const [entry] = await store.jobs.find([JID]);
    assertEquals(await store.jobs.edit([entry!.ref], "delete"), 1);
    assertEquals(await counts(), { pending: 0, dead: 0, deleted: 1, state: "failed" }, kind);
  }
});

Deno.test("redis: a job with an infinite score is listed with that time, and found by its ref", async () => {
  await using redis = await startRedis();
  await using store = await openStore(redis.url);
  for (const [set, key] of [["retry", "retry"], ["dead", "dead"], ["scheduled", "schedule"]] as const) {
    await redis.cli("ZADD", key, "-inf", `{"class":"A","args":[],"jid":"${"a".repeat(24)}"}`);
    await redis.cli("ZADD", key, "inf", `{"class":"A","args":[],"jid":"${"b".repeat(24)}"}`);
    const { entries } = await store.admin.page({ in: set });
    assertEquals(entries.map(({ at }) => at), [-Infinity, Infinity]);
    const { entries: [second] } = await store.admin.page({ in: set }, { cursor: entries[1]!.ref });
    assertEquals(second?.ref, entries[1]!.ref);
    assertEquals(await store.jobs.edit(entries.map(({ ref }) => ref), "delete"), 2);
  }
});
