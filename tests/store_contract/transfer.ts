/**
 * Rows that a store hands to another one.
 *
 * @module
 */
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { readStep } from "../../src/job/step.ts";
import type { StoredStep } from "../../src/store/port/steps.ts";
import type { RowKind, TransferRows } from "../../src/store/admin/transfer.ts";
import { StoreError } from "../../src/store/port/errors.ts";
import type { Store } from "../../src/store/admin/store.ts";
import type { Cases } from "./harness.ts";
import { entries, HOUR_MS, jid, job, jobs, numbersIn, register, takeUpTo } from "./jobs.ts";

const QUEUE = { in: "queue", queue: "default" } as const;

const row = (n: number, more: Partial<TransferRows["job"]> = {}): TransferRows["job"] => ({
  ref: "",
  place: QUEUE,
  payload: job(n).payload,
  ...more,
});

const BATCH = {
  ...{
    id: "b",
    spec: `{"callbacks":{}}`,
    parent: null,
    counted: null,
    created: 1,
    close_within: 1,
    keep: 1,
    version: 1,
  },
  ...{ closed: null, closed_as: null, due: 4e12, success_at: null, complete_at: null, death_at: null },
  ...{ abandoned_at: null, flow: 1, waiting: 0, total: 0, pending: 0, dead: 0, succeeded: 0, failed: 0 },
  ...{ cancelled: 0, expired: 0, deleted: 0 },
};

const NODE = {
  ...{ name: "a", position: 0, spec: `{"jid":"b-1","class":"A","queue":"q","onDead":"stop","after":[]}` },
  ...{ followers: "[]", needs: 0, state: "waiting", changed: 1, effect: null, payload: job(1).payload, result: null },
};

/** A row of each kind. */
const ROWS: TransferRows = {
  job: row(1),
  step: {
    ...{ jid: jid(1), receives: true },
    steps: [{ name: "s", record: `{"state":"succeeded","since":1,"ended":2,"kind":"step"}` }],
  },
  stream: { jid: jid(1), parts: [{ last: 1, run: 1, attempt: 1, body: "[1]" }] },
  batch: BATCH,
  node: { flow: "b", columns: NODE },
  throttle: { key: "t", perMs: HOUR_MS, pushes: [{ jid: jid(1), agoMs: 1 }] },
  once: { key: "o", jid: jid(1), leftMs: HOUR_MS, fingerprint: "" },
  key: { key: "k" },
};

/** Rows that are wrong, or of a newer version: one change of the valid row, and the name of what is refused. */
const WRONG: readonly [kind: RowKind, change: Record<string, unknown>, error: string][] = [
  ["job", { payload: undefined }, `job.payload is missing, expected a string`],
  ["job", { place: { in: "frozen" } }, `job.place.in is "frozen", expected one of queue, scheduled, retry, dead`],
  ["job", { priority: 7 }, "a newer version of jobs wrote job.priority"],
  ["job", { unique: { key: "k", jid: "j", ttlMs: "1h" } }, `job.unique.ttlMs is "1h", expected a number`],
  ["job", { debounce: { key: "k", jid: "j" } }, "job.debounce.firstAt is missing"],
  ["step", { steps: [{ name: "s", record: "{}" }, { name: "t", record: 7 }] }, "step.steps.record is 7"],
  ["step", { receives: 1 }, "step.receives is 1, expected a boolean"],
  ["stream", { parts: [{ last: 1, run: 1, attempt: 1 }] }, "stream.parts.body is missing"],
  ["batch", { spec: "{" }, `batch.spec is "{", expected the JSON of a batch`],
  ["batch", { spec: `{"callbacks":{"success":{}}}` }, "expected the JSON of a batch"],
  ["batch", { closed_as: "frozen" }, `batch.closed_as is "frozen", expected one of closed, cancelled, abandoned`],
  ["batch", { total: null }, "batch.total is null, expected a number"],
  ["batch", { snoozed: 0 }, "a newer version of jobs wrote batch.snoozed; update this program"],
  ["node", { columns: { ...NODE, state: "frozen" } }, `node.columns.state is "frozen", expected one of waiting, `],
  ["node", { columns: { ...NODE, weight: 1 } }, "a newer version of jobs wrote node.columns.weight"],
  ["node", { columns: { ...NODE, spec: "no" } }, `node.columns.spec is "no", expected JSON`],
  ["node", { columns: { ...NODE, payload: "{}" } }, `node.columns.payload is "{}", expected a JSON object with fields`],
  ["throttle", { pushes: [{ jid: "j" }] }, "throttle.pushes.agoMs is missing"],
  ["throttle", { perMs: NaN }, "throttle.perMs is null, expected a number"],
  ["once", { leftMs: "1" }, `once.leftMs is "1", expected a number`],
  ["key", { key: 7 }, "key.key is 7, expected a string"],
];

/** A step that waits for a signal. */
const WAITS: StoredStep = {
  name: "w",
  record: `{"state":"waiting","until":9999999999999,"since":1,"kind":"wait","key":"k"}`,
};

/** Returns everything that the rows can put into a store. */
async function contents(store: Store): Promise<unknown[]> {
  const { transfer } = store;
  const request = { ids: ["b"] };
  return [
    ...await entries(store, QUEUE),
    ...await store.steps.read(jid(1)),
    ...(await store.streams.read(jid(1), 0))?.parts ?? [],
    ...(await transfer.read("batch", request)).rows,
    ...(await transfer.read("node", request)).rows,
    ...(await transfer.read("throttle")).rows,
    ...(await transfer.read("once")).rows,
    ...(await transfer.read("key", { ids: ["k", "import"] })).rows,
  ];
}

export const transfer: Cases = {
  "refuses a row that is wrong or of a newer version, and stores none of the rows with it": async (open) => {
    await using t = await open();
    for (const [kind, change, expected] of WRONG) {
      const rows = [ROWS[kind], { ...ROWS[kind], ...change } as unknown as TransferRows[RowKind]];
      const error = await assertRejects(() => t.store.transfer.put(kind, rows, "import"), StoreError);
      assertStringIncludes(error.message, expected);
      assertEquals(error.code, expected.includes("newer") ? "newer" : "wrong", expected);
      assertEquals(await contents(t.store), [], expected);
    }
    for (const kind of Object.keys(ROWS) as RowKind[]) await t.store.transfer.put(kind, [ROWS[kind]], "import");
    assertEquals((await contents(t.store)).length, 9, "the valid ones are stored");
  },

  "a wait of a job that is dead, or comes later than its steps, receives no signal": async (open) => {
    await using t = await open();
    const step = (receives: boolean) => t.store.transfer.put("step", [{ jid: jid(1), steps: [WAITS], receives }]);
    const signal = (data: string) => t.store.steps.signal({ key: "k", data, ttlMs: HOUR_MS });
    // It was retried at the source, and has died again.
    await step(true);
    await step(false);
    assertEquals(await signal("1"), {});
    assertEquals((await t.store.steps.read(jid(1))).map(({ record }) => record), [WAITS.record]);
  },

  "a signal that came before the job that waits for it ends its wait, and the job is due": async (open) => {
    await using t = await open();
    assertEquals(await t.store.steps.signal({ key: "k", data: "7", ttlMs: HOUR_MS }), {});
    // Its child comes first, and brings the steps.
    for (const receives of [false, true]) {
      await t.store.transfer.put("step", [{ jid: jid(1), steps: [WAITS], receives }]);
    }
    const [{ record }] = await t.store.steps.read(jid(1)) as [StoredStep];
    const { state, value } = readStep(WAITS.name, record);
    assertEquals([state, value], ["succeeded", 7]);
    const payload = job(1).payload.replace(/}$/, `,"has_steps":true}`);
    await t.store.transfer.put("job", [{ ...row(1), payload, place: { in: "scheduled" }, at: t.now() + HOUR_MS }], "b");
    assertEquals((await t.store.jobs.promote(10)).moved, 1);
    assertEquals(await t.store.steps.signal({ key: "k", data: "8", ttlMs: HOUR_MS }), {});
  },

  "stores a batch of jobs once, and another batch of equal jobs again": async (open) => {
    await using t = await open();
    await t.store.jobs.enqueue([job(1)]);
    const { transfer } = t.store;
    for (const id of ["one", "one", "two"]) await transfer.put("job", [row(2), row(2), row(3)], id);
    assertEquals(await numbersIn(t.store, QUEUE), [1, 2, 2, 3, 2, 2, 3]);
    assertEquals((await transfer.read("key", { ids: ["one", "none", "two"] })).rows, [{ key: "one" }, { key: "two" }]);
    assertEquals(await transfer.drop("key", [{ key: "one" }]), 0);
    await transfer.put("job", [row(4)], "one");
    assertEquals((await numbersIn(t.store, QUEUE)).at(-1), 4);
  },

  "continues a stream with the parts that it doesn't have, and the next run after them": async (open) => {
    await using t = await open();
    const put = (...parts: TransferRows["stream"]["parts"]) => t.store.transfer.put("stream", [{ jid: jid(1), parts }]);
    const first = { last: 3, run: 1, attempt: 1, body: `["b","c"]` };
    const second = { last: 4, run: 2, attempt: 1, body: `["d"]` };
    await put(first);
    await put(first, second);
    assertEquals(await t.store.streams.read(jid(1), 0), { parts: [first, second], last: 4, ended: false });
    const worker = await register(t.store);
    await t.store.jobs.enqueue([job(1)]);
    const [lease] = await takeUpTo(t.store, worker, 1);
    const from = { worker, token: lease!.token, jid: jid(1) };
    assertEquals(await t.store.streams.append(from, { attempt: 2, from: 0, chunks: [`"e"`] }), true);
    const third = { last: 5, run: 3, attempt: 2, body: `["e"]` };
    assertEquals((await t.store.streams.read(jid(1), 4))?.parts, [third]);
  },

  "one batch of jobs is announced at a time, until it has left": async (open) => {
    await using t = await open();
    const { transfer } = t.store;
    assertEquals(await transfer.mark([]), undefined);
    await t.store.jobs.enqueue([...jobs(1, 3), job(4, { delayMs: HOUR_MS })]);
    const refs = [...await entries(t.store, QUEUE), ...await entries(t.store, { in: "scheduled" })].map(({ ref }) =>
      ref
    );
    const announced = (await transfer.mark([refs[0]!, refs[3]!]))!;
    assertEquals(announced.refs, [refs[0]!, refs[3]!]);
    assertEquals([await transfer.mark([refs[1]!]), await transfer.mark([])], [announced, announced]);

    const { rows } = await transfer.read("job", { ids: announced.refs });
    assertEquals(rows.map(({ place, payload, at }) => [place.in, JSON.parse(payload).jid, at !== undefined]), [
      ["queue", jid(1), false],
      ["scheduled", jid(4), true],
    ]);
    assertEquals(await transfer.drop("job", rows, "another"), 0);
    assertEquals((await t.store.admin.stats()).scheduled, 1);
    for (let i = 0; i < 2; i++) {
      assertEquals(await transfer.drop("job", rows, announced.id), 2, "the same when repeated");
    }
    assertEquals([await numbersIn(t.store, QUEUE), (await t.store.admin.stats()).scheduled], [[2, 3], 0]);
    assertEquals(await transfer.mark([]), undefined);
    assertEquals((await transfer.mark([refs[1]!]))!.refs, [refs[1]!]);
  },

  "an announced job that was deleted meanwhile isn't read, and the others leave": async (open) => {
    await using t = await open();
    await t.store.jobs.enqueue(jobs(1, 3));
    const refs = (await entries(t.store, QUEUE)).map(({ ref }) => ref);
    const { id } = (await t.store.transfer.mark(refs))!;
    assertEquals(await t.store.jobs.edit([refs[1]!], "delete"), 1);
    const { rows } = await t.store.transfer.read("job", { ids: refs });
    assertEquals(rows.map(({ payload }) => JSON.parse(payload).jid), [jid(1), jid(3)]);
    assertEquals(await t.store.transfer.drop("job", rows, id), 2);
    assertEquals(await numbersIn(t.store, QUEUE), []);
  },
};
