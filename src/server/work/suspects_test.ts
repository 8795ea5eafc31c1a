import { assert, assertEquals, assertRejects } from "@std/assert";
import { FakeClock } from "../../../tests/support/clock.ts";
import { KeptLog } from "../../../tests/support/log.ts";
import type { RunningSuspects } from "../../job/suspicion.ts";
import { StoreError } from "../../store/port/errors.ts";
import type { Lease } from "../../store/port/jobs.ts";
import { OutageLog } from "../outage_log.ts";
import { Suspects, type SuspectsOptions } from "./suspects.ts";

/** Leases of jobs that are not suspected, suspected once, and suspected twice. */
const [PLAIN, OTHER] = [lease("plain", {}), lease("other", {})];
const [A, B] = [lease("a", { suspected: 1 }), lease("b", { suspected: 1 })];
const SOLO = lease("solo", { suspected: 1, rescues: 1 });

function lease(token: string, fields: Record<string, unknown>): Lease {
  return { token, queue: "q", payload: JSON.stringify({ class: "Any", args: [], jid: token, ...fields }) };
}

function lab({ isIsolated = false, program }: { isIsolated?: boolean; program?: SuspectsOptions["program"] } = {}) {
  const clock = new FakeClock();
  const log = new KeptLog();
  const notes: RunningSuspects[] = [];
  const failures: Error[] = [];
  let changes = 0;
  const note = (_worker: string, { running }: { running?: RunningSuspects }): Promise<void> => {
    const failure = failures.shift();
    if (failure) return Promise.reject(failure);
    notes.push(running!);
    return Promise.resolve();
  };
  const suspects = new Suspects({
    store: { workers: { note } },
    worker: "me",
    clock,
    log,
    outage: new OutageLog(),
    isIsolated: () => isIsolated,
    program,
  });
  suspects.onChange = () => changes++;
  /** Waits until the suspects call for more, and asks again. */
  const admitLater = async (job: Lease) => {
    assertEquals(suspects.admit(job), "wait");
    const before = changes;
    await clock.turn();
    assert(changes > before, "there is news");
    return suspects.admit(job);
  };
  return { suspects, clock, log, notes, failures, admitLater };
}

Deno.test("other jobs than suspects start at once, without a request to the store", async () => {
  const t = lab();
  assertEquals([t.suspects.admit(PLAIN), t.suspects.admit(OTHER)], ["now", "now"]);
  t.suspects.ended(PLAIN);
  await t.clock.turn();
  assertEquals([t.notes, t.suspects.admitting], [[], false]);
});

Deno.test("a suspect is noted before it starts, and no other job starts before it has ended", async () => {
  const t = lab();
  assertEquals(t.suspects.admit(A), "wait");
  assert(t.suspects.admitting);
  await t.clock.turn();
  assertEquals(t.notes, [{ tokens: ["a"], alone: true }]);
  assertEquals(t.suspects.admit(A), "now");
  assertEquals(t.suspects.admitting, false);
  assertEquals(t.suspects.admit(PLAIN), "wait");
  t.suspects.ended(A);
  await t.clock.turn();
  assertEquals(t.suspects.admit(PLAIN), "now");
  assertEquals(t.notes.length, 1);
});

Deno.test("a suspect waits until no other job has started for a second", async () => {
  const t = lab();
  t.suspects.admit(PLAIN);
  assertEquals(t.suspects.admit(A), "wait");
  await t.clock.advance(999);
  assertEquals([t.suspects.admit(A), t.suspects.admit(OTHER), t.notes.length], ["wait", "wait", 0]);
  await t.clock.advance(1);
  assertEquals([t.suspects.admit(A), t.notes.length], ["now", 1]);
  // Nothing else has started since: the next one need not wait.
  t.suspects.ended(A);
  await t.clock.turn();
  assertEquals(await t.admitLater(B), "now");
});

Deno.test("other jobs start when a suspect has run for a second, and this is noted before", async () => {
  const t = lab();
  assertEquals(await t.admitLater(A), "now");
  await t.clock.advance(999);
  assertEquals(t.suspects.admit(PLAIN), "wait");
  await t.clock.advance(1);
  assertEquals(await t.admitLater(PLAIN), "now");
  assertEquals(t.suspects.admit(OTHER), "now", "it is told once");
  assertEquals(t.notes, [{ tokens: ["a"], alone: true }, { tokens: ["a"], alone: false }]);
});

Deno.test("the end of a job that started earlier doesn't end the second in which a suspect runs alone", async () => {
  const t = lab();
  assertEquals(await t.admitLater(A), "now");
  await t.clock.advance(1_000);
  assertEquals(await t.admitLater(B), "now");
  t.suspects.ended(A);
  await t.clock.turn();
  assertEquals(t.suspects.admit(PLAIN), "wait");
  await t.clock.advance(1_000);
  assertEquals(await t.admitLater(PLAIN), "now");
});

Deno.test("suspects start a second apart, and each note names the running ones", async () => {
  const t = lab();
  assertEquals(await t.admitLater(A), "now");
  assertEquals(t.suspects.admit(B), "wait");
  await t.clock.advance(1_000);
  assertEquals(await t.admitLater(B), "now");
  t.suspects.ended(A);
  t.suspects.ended(B);
  await t.clock.turn();
  assertEquals(t.suspects.admit(PLAIN), "now");
  assertEquals(t.notes, [{ tokens: ["a"], alone: true }, { tokens: ["a", "b"], alone: true }]);
});

Deno.test("a job that was suspected twice doesn't run together with another suspect, which is snoozed", async () => {
  for (const [first, second] of [[SOLO, A], [A, SOLO]] as const) {
    const t = lab();
    assertEquals(await t.admitLater(first), "now");
    await t.clock.advance(1_000);
    const admission = t.suspects.admit(second);
    assert(typeof admission === "object" && admission.snoozeMs >= 5_000 && admission.snoozeMs <= 15_000);
    assertEquals(await t.admitLater(PLAIN), "now", "other jobs may");
    t.suspects.ended(first);
    assertEquals(t.suspects.admit(second), "wait");
    await t.clock.advance(1_000);
    assertEquals(t.suspects.admit(second), "now");
  }
});

Deno.test("a suspect that was released or lost before it started delays no other job", async () => {
  const t = lab();
  assertEquals(t.suspects.admit(A), "wait");
  await t.clock.turn();
  assertEquals(t.suspects.admit(PLAIN), "now");
  assertEquals(t.suspects.admit(A), "wait", "it has to be noted again");
});

Deno.test("a suspect doesn't start before it is noted, and a store that fails is logged once", async () => {
  const t = lab();
  t.failures.push(new StoreError("unavailable", "away"), new StoreError("unavailable", "away"));
  assertEquals(t.suspects.admit(A), "wait");
  for (let i = 0; i < 2; i++) {
    await t.clock.untilSleeping();
    assertEquals(t.suspects.admit(A), "wait");
    await t.clock.advance(500);
    assertEquals(t.suspects.admit(A), "wait");
  }
  await t.clock.turn();
  assertEquals(t.suspects.admit(A), "now");
  const told = t.log.said.filter((line) => /noted/.test(line));
  assertEquals(told, ["warn Suspects not noted, retrying", "warn Suspects are noted again"]);
});

Deno.test("isolated and unreadable jobs start like any other", () => {
  assertEquals(lab({ isIsolated: true }).suspects.admit(A), "now");
  assertEquals(lab().suspects.admit({ token: "x", queue: "q", payload: '{"suspected":1' }), "now");
});

Deno.test("a suspect isn't noted before its program is awake, and may be released until then", async () => {
  const program = Promise.withResolvers<void>();
  const t = lab({ program: { awake: () => program.promise, runs: () => false } });
  assertEquals(t.suspects.admit(A), "wait");
  await t.clock.turn();
  assertEquals([t.notes, t.suspects.admitting], [[], false]);
  assertEquals(t.suspects.admit(PLAIN), "wait", "the program wouldn't begin it either");
  program.resolve();
  await t.clock.turn();
  assertEquals([t.notes.length, t.suspects.admitting], [1, true]);
  assertEquals(t.suspects.admit(A), "now");
});

/** A lab of a program that has been given a suspect. */
async function given() {
  const t = lab({ program: { awake: () => Promise.resolve(), runs: () => false } });
  assertEquals(await t.admitLater(A), "now");
  return t;
}

Deno.test("a suspect is noted as alone when its program confirms it, and has its second again", async () => {
  const t = await given();
  assertEquals(t.notes, [{ tokens: ["a"], alone: false }]);
  await t.clock.advance(999);
  await t.suspects.confirm(["other"]);
  assertEquals(t.notes.length, 1, "it isn't listed");
  await Promise.all([t.suspects.confirm(["a"]), t.suspects.confirm(["a"])]);
  await t.suspects.confirm(["a"]);
  assertEquals(t.notes.slice(1), [{ tokens: ["a"], alone: true }]);
  await t.clock.advance(999);
  assertEquals(t.suspects.admit(PLAIN), "wait");
  await t.clock.advance(1);
  assertEquals(await t.admitLater(PLAIN), "now");
  assertEquals(t.notes.slice(2), [{ tokens: ["a"], alone: false }]);
});

Deno.test("a suspect that its program confirms late is noted as alone, unless another job has started", async () => {
  const late = await given();
  await late.clock.advance(1_000);
  await late.suspects.confirm(["a"]);
  assertEquals(late.notes.slice(1), [{ tokens: ["a"], alone: true }]);
  assertEquals(late.suspects.admit(PLAIN), "wait");
  const next = await given();
  await next.clock.advance(1_000);
  assertEquals(next.suspects.admit(PLAIN), "now");
  await next.suspects.confirm(["a"]);
  assertEquals(next.notes.length, 1);
  const other = await given();
  await other.clock.advance(1_000);
  assertEquals(other.suspects.admit(B), "wait");
  await other.suspects.confirm(["a"]);
  await other.clock.turn();
  assertEquals(other.suspects.admit(B), "now");
  assertEquals(other.notes.slice(1), [{ tokens: ["a", "b"], alone: false }]);
});

Deno.test("a confirmation that isn't noted fails, and can be repeated", async () => {
  const t = await given();
  t.failures.push(new StoreError("unavailable", "away"));
  await assertRejects(() => t.suspects.confirm(["a"]), StoreError);
  assertEquals(t.suspects.admit(PLAIN), "wait");
  await t.suspects.confirm(["a"]);
  assertEquals(t.notes.slice(1), [{ tokens: ["a"], alone: true }]);
  t.suspects.ended(A);
  await t.clock.turn();
  assertEquals(t.suspects.admit(PLAIN), "now");
});

Deno.test("suspects that their program runs already start at once, and count half", async () => {
  const t = lab({ program: { awake: () => Promise.resolve(), runs: (token) => token !== "b" } });
  assertEquals([A, SOLO, PLAIN].map((job) => t.suspects.admit(job)), ["now", "now", "now"]);
  await t.clock.turn();
  assertEquals(t.notes.at(-1), { tokens: ["a", "solo"], alone: false });
  t.suspects.ended(A);
  t.suspects.ended(SOLO);
  assertEquals(t.suspects.admit(B), "wait");
});
