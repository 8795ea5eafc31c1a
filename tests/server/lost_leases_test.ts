/** A worker that was offline and continues drops the jobs that it has lost. */
import { assertEquals, assertMatch } from "@std/assert";
import { type Holder, LostLeases } from "../../src/server/liveness/lost_leases.ts";
import { Counters } from "../../src/server/stats/counters.ts";
import { StoreError } from "../../src/store/port/errors.ts";
import { Bench } from "../support/bench.ts";
import { KeptLog } from "../support/log.ts";
import { startRedis } from "../support/redis.ts";

const LOST = "Leases lost: this worker was offline, and these jobs run again elsewhere";

/** Long enough that only the frozen worker is offline, however busy the machine is. */
const PATIENT = { JOBS_HEARTBEAT_TIMEOUT: "3s" };

/** Freezes a worker past its heartbeat timeout while it performs a job, lets another perform it, and continues the first. */
async function freezeAndThaw(bench: Bench, args: readonly string[]): Promise<void> {
  await using frozen = await bench.server(["-c", "2", ...args], PATIENT);
  const jid = await bench.push("Listen", [bench.notes], { result_ttl: 60 });
  await bench.noted(`start ${jid}`);
  await bench.freeze(frozen);
  await using other = await bench.server(["-c", "2"], PATIENT);
  await other.logged("Rescued jobs of offline workers");
  await bench.until(async () => (await bench.readNotes()).length === 2, "it runs again");
  frozen.kill("SIGCONT");
  // The other worker is still performing it, so that its outcome does not reveal the loss.
  await bench.noted(`LeaseLost ${jid}`);
  await frozen.logged(LOST, { count: 1, jids: jid });
  await frozen.logged("Finished after losing its lease: result ignored, the job runs again", { jid });

  await Deno.writeTextFile(`${bench.notes}.go`, "");
  await other.logged("Done", { jid });
  assertEquals(await bench.readNotes(), [`start ${jid}`, `start ${jid}`, `LeaseLost ${jid}`, `end ${jid}`]);
  await bench.until(async () => (await bench.store.admin.stats()).processed === 1, "it is settled");
  const { failed, running, retry, dead } = await bench.store.admin.stats();
  assertEquals({ failed, running, retry, dead }, { failed: 0, running: 0, retry: 0, dead: 0 });
  const { records } = await bench.store.results.read();
  assertEquals(records.length, 1, "one record");

  // The worker performs the jobs that it takes from now on.
  other.kill("SIGTERM");
  await other.status();
  const next = await bench.push("Note", [bench.notes]);
  await frozen.logged("Done", { jid: next });
  assertEquals(frozen.lines.filter(({ msg }) => msg === LOST).length, 1, "logged once");
  assertEquals(frozen.lines.filter(({ msg, jid: of }) => msg === "Done" && of === jid), []);
}

/** The cases run at the same time: each takes as long as a heartbeat timeout. */
const CASES: Readonly<Record<string, () => Promise<void>>> = {
  "on SQLite": async () => {
    await using bench = await Bench.open();
    await freezeAndThaw(bench, []);
  },
  "on Redis": async () => {
    await using redis = await startRedis();
    await using bench = await Bench.open(redis.url);
    await freezeAndThaw(bench, []);
  },
  "in a horse": async () => {
    await using bench = await Bench.open();
    await freezeAndThaw(bench, ["--isolate", "Listen"]);
  },
};

Deno.test("aborts jobs that a frozen worker has lost, and ignores their results: on SQLite, on Redis, in an isolated process", async () => {
  const results = await Promise.allSettled(Object.values(CASES).map((run) => run()));
  const failures = results.flatMap((result, i) =>
    result.status === "rejected" ? [new Error(Object.keys(CASES)[i], { cause: result.reason })] : []
  );
  if (failures.length > 0) throw new AggregateError(failures, failures.map(({ message }) => message).join(", "));
});

/** A holder that records lost jobs, and a store with given replies. */
function lab(...tokens: string[]) {
  const lost: string[] = [];
  const holder: Holder = { tokens, lose: (gone) => (lost.push(...gone), [...gone].map((token) => `jid of ${token}`)) };
  const answers: (string[] | Error)[] = [];
  let asked = 0;
  const store = {
    jobs: {
      stillLeased: (): Promise<string[]> => {
        asked++;
        const answer = answers.shift() ?? [...tokens];
        return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
      },
    },
  };
  const log = new KeptLog();
  const counters = new Counters();
  const lostLeases = new LostLeases({ store, worker: "host:1:a", log, counters });
  lostLeases.watch(holder);
  return { lostLeases, tokens, answers, lost, log, counters, asked: () => asked };
}

Deno.test("reads the leases once after a lapse", async () => {
  const t = lab("a", "b");
  for (const lapsed of [false, true, false, false, false]) await t.lostLeases.beat(lapsed);
  assertEquals(t.asked(), 1);
  assertEquals(t.lost, []);
});

Deno.test("shares a read that began after the last heartbeat, and reads again after the next one", async () => {
  const t = lab("a", "b");
  const first = t.lostLeases.beat(true);
  await Promise.all([t.lostLeases.dropLost(), t.lostLeases.suspect(), first]);
  assertEquals(t.asked(), 1);
  t.answers.push(["a", "b"], ["b"]);
  const before = t.lostLeases.dropLost();
  const lapsed = t.lostLeases.beat(true);
  await Promise.all([before, lapsed]);
  assertEquals([t.asked(), t.lost], [3, ["a"]]);
});

Deno.test("repeats a read that failed, although an earlier read ended after it began", async () => {
  const t = lab("a", "b");
  t.answers.push(["a", "b"], new StoreError("unavailable", "away"), ["b"]);
  await Promise.all([t.lostLeases.suspect(), t.lostLeases.beat(true)]);
  await t.lostLeases.beat(false);
  assertEquals([t.asked(), t.lost], [3, ["a"]]);
});

Deno.test("reads again with the next heartbeat if the store fails", async () => {
  const t = lab("a", "b");
  t.answers.push(new StoreError("unavailable", "away"), new StoreError("unavailable", "away"), ["b"]);
  for (const lapsed of [true, false, false]) await t.lostLeases.beat(lapsed);
  assertEquals(t.lost, ["a"]);
  assertEquals(t.log.said, [`warn ${LOST}`]);
});

Deno.test("doesn't count a job as lost that is settled while the store replies", async () => {
  const t = lab("lost", "settled");
  t.answers.push([]);
  const looked = t.lostLeases.beat(true);
  t.tokens.splice(1);
  await looked;
  assertEquals(t.lost, ["lost"]);
  assertEquals(t.counters.leasesLost, 1);
  assertEquals(t.log.lines.map(({ fields }) => fields), [{ count: 1, jids: "jid of lost" }]);
});

Deno.test("logs an unexpected error with its stack, and reads again", async () => {
  const t = lab("a", "b");
  t.answers.push(new TypeError("unexpected"), ["b"]);
  await t.lostLeases.beat(true);
  await t.lostLeases.suspect();
  assertEquals(t.log.said, ["error Can't read which leases are left, retrying", `warn ${LOST}`]);
  assertMatch(String(t.log.lines[0]!.fields["stack"]), /TypeError: unexpected\n +at /);
  assertEquals(t.lost, ["a"]);
});
