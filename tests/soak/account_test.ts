/**
 * Tests of the account: explained and unexplained executions.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { type Account, account, type Evidence } from "./account.ts";
import { plan } from "./plan.ts";
import { processDisturbances } from "./disturb_processes.ts";
import { failuresOf } from "./failures.ts";
import { Incidents } from "./incidents.ts";
import { Random } from "./random.ts";
import type { Incident, Push, Run } from "./records.ts";

const EMPTY: Evidence = {
  ...{ runs: [], pushes: [], incidents: [], outages: [], jumps: [], dead: [], left: [] },
  ...{ heartbeatTimeoutMs: 3_000, shutdownTimeoutMs: 2_000, maxRescues: 3 },
};

/** A run of job `a` by process 1 from 10 s to 11 s, which ended well. */
function run(more: Partial<Run> = {}): Run {
  return {
    ...{ run: "r", jid: "a", class: "Nap", queue: "default", attempt: 1, pid: 1, ppid: 100 },
    ...{ start: 10_000, end: 11_000, why: "done" },
    ...more,
  };
}

/** The same without an end. */
function cutShort(more: Partial<Run> = {}): Run {
  const { end: _end, why: _why, ...rest } = run(more);
  return rest;
}

function push(more: Partial<Push> = {}): Push {
  return { jid: "a", class: "Nap", from: 9_000, t: 9_010, answer: "stored", ...more };
}

function incident(effect: Incident["effect"], from: number, to = from, more: Partial<Incident> = {}): Incident {
  return { kind: effect, pid: 1, from, to, effect, ...more };
}

/** Returns the fields of an account that are not empty. */
function found(evidence: Partial<Evidence>): Record<string, unknown> {
  const { extra, ...all } = account({ ...EMPTY, ...evidence });
  const problems = Object.entries(all).filter(([, value]) => Array.isArray(value) && value.length > 0);
  return { ...extra, ...Object.fromEntries(problems.map(([name, value]) => [name, (value as unknown[]).length])) };
}

const second = run({ run: "s", pid: 2, start: 15_000, end: 16_000 });

Deno.test("soak account: an acknowledged job that ran once is not a finding", () => {
  assertEquals(found({ pushes: [push()], runs: [run()] }), {});
});

Deno.test("soak account: an acknowledged job that never ended well, and is nowhere, is lost", () => {
  assertEquals(found({ pushes: [push()] }), { lost: 1 });
  assertEquals(found({ pushes: [push()], runs: [cutShort()] }), { lost: 1 });
  assertEquals(found({ pushes: [push({ class: "Doomed" })], runs: [run({ why: "failed" })] }), { lost: 1 });
  assertEquals(found({ pushes: [push({ class: "Doomed" })], runs: [run({ class: "Doomed" })], dead: ["a"] }), {});
});

Deno.test("soak account: a job that is left is stuck, one in dead without a cause is wrong there", () => {
  assertEquals(found({ pushes: [push()], left: ["a"] }), { stuck: 1 });
  assertEquals(found({ pushes: [push()], runs: [run()], dead: ["a"] }), { wronglyDead: 1 });
  const runs = [1, 2, 3].map((pid) => cutShort({ pid, run: `${pid}`, start: pid * 10_000 }));
  const incidents = [1, 2, 3].map((pid) => incident("gone", pid * 10_000 + 50, undefined, { pid }));
  assertEquals(found({ pushes: [push()], runs, incidents, dead: ["a"] }), { gone: 2 });
});

Deno.test("soak account: a second run is explained by the death of the first one's worker", () => {
  const runs = [cutShort(), second];
  assertEquals(found({ runs, incidents: [incident("gone", 10_500)] }), { gone: 1 });
  assertEquals(found({ runs, incidents: [incident("gone", 10_500, undefined, { pid: 3 })] }), { unexplained: 1 });
  // A job that its worker isolates: the worker is the parent.
  assertEquals(found({ runs, incidents: [incident("gone", 10_500, undefined, { pid: 100 })] }), { gone: 1 });
});

Deno.test("soak account: a death long after the end of a run explains nothing, unless the store was down all the while", () => {
  const runs = [run(), run({ ...second, start: 25_000 })];
  const incidents = [incident("gone", 20_000)];
  assertEquals(found({ runs, incidents }), { unexplained: 1 });
  assertEquals(found({ runs, incidents, outages: [{ kind: "down", from: 10_900, to: 19_000 }] }), { gone: 1 });
});

Deno.test("soak account: a freeze explains a second run only when it was longer than the timeout", () => {
  const runs = [run({ end: 20_000 }), second];
  assertEquals(found({ runs, incidents: [incident("away", 10_500, 15_500)] }), { away: 1 });
  assertEquals(found({ runs, incidents: [incident("away", 10_500, 11_500)] }), { unexplained: 1 });
});

Deno.test("soak account: a worker that starts a job after it was offline is told apart", () => {
  const stale = run({ run: "s", pid: 2, start: 15_100, end: 15_200 });
  const frozen = incident("away", 9_000, 15_000, { pid: 2 });
  assertEquals(found({ runs: [run(), stale], incidents: [frozen] }), { notStarted: 1 });
  // It was sure of its lease when it was frozen.
  const begun = run({ run: "s", pid: 2, start: 15_060, end: 15_200 });
  assertEquals(
    found({ runs: [begun, run({ start: 17_000, end: 17_100 })], incidents: [{ ...frozen, kind: "frozen" }] }),
    { frozen: 1 },
  );
  // Another one that it has taken since runs nowhere else.
  const after = run({ run: "o", jid: "b", pid: 2, start: 15_070, end: 15_200 });
  const both = [begun, run({ start: 17_000, end: 17_100 }), after];
  assertEquals(found({ runs: both, incidents: [{ ...frozen, kind: "frozen" }] }), { frozen: 1 });
  // Two at once that it had lost: its guard has failed.
  assertEquals(
    found({
      runs: [...both, run({ jid: "b", start: 17_000, end: 17_100 })],
      incidents: [{ ...frozen, kind: "frozen" }],
    }),
    { unexplained: 2 },
  );
  const cut = incident("away", 9_000, 18_000, { pid: 2 });
  assertEquals(found({ runs: [run(), stale], incidents: [cut] }), { notStarted: 1 });
});

Deno.test("soak account: a slow line explains a second run together with an outage, if they are longer than the timeout", () => {
  const runs = [run(), second];
  const slow = [incident("slow", 12_500, 15_000)];
  assertEquals(found({ runs, incidents: slow }), { unexplained: 1 });
  assertEquals(found({ runs, incidents: slow, outages: [{ kind: "down", from: 11_500, to: 13_000 }] }), { slow: 1 });
  assertEquals(found({ runs, incidents: slow, outages: [{ kind: "down", from: 11_500, to: 12_000 }] }), {
    unexplained: 1,
  });
});

Deno.test("soak account: a stop explains a second run of a job that it cut short, or that outlasted it", () => {
  const stop = [incident("stopping", 10_500, 14_000)];
  assertEquals(found({ runs: [run({ why: "Shutdown" }), second], incidents: stop }), { stopping: 1 });
  assertEquals(found({ runs: [run({ end: 13_500 }), second], incidents: stop }), { stopping: 1 });
  assertEquals(found({ runs: [run(), second], incidents: stop }), { unexplained: 1 });
});

Deno.test("soak account: a stop explains a second run whose first outcome could not be stored, since the store was down", () => {
  const late = { runs: [run(), run({ ...second, start: 25_000 })], incidents: [incident("stopping", 15_000, 20_000)] };
  assertEquals(found({ ...late, outages: [{ kind: "down", from: 11_500, to: 21_000 }] }), { stopping: 1 });
  assertEquals(found({ ...late, outages: [{ kind: "down", from: 14_900, to: 21_000 }] }), { unexplained: 1 });
});

Deno.test("soak account: retries and snoozes are not extra, a run after a good end is", () => {
  assertEquals(found({ runs: [run({ why: "failed" }), run({ ...second, attempt: 2 })] }), {});
  assertEquals(found({ runs: [run({ why: "snoozed" }), second] }), {});
  assertEquals(found({ runs: [run(), run({ ...second, attempt: 2 })] }), { unexplained: 1 });
});

Deno.test("soak account: a refused job that ran, and one stored while another held its lock, are not unique", () => {
  assertEquals(found({ pushes: [push({ answer: "refused" })], runs: [run()] }), { notUnique: 1 });
  const pushes = [push({ key: "1" }), push({ jid: "b", key: "1", from: 9_500, t: 9_600 })];
  const runs = [run(), run({ jid: "b", run: "s" })];
  assertEquals(found({ pushes, runs }), { notUnique: 1 });
  assertEquals(found({ pushes, runs: [run({ start: 9_100 }), runs[1]!] }), {});
  const jump = { t: 9_300, ms: 599_000 };
  assertEquals(found({ pushes, runs, jumps: [jump] }), { notUnique: 1 });
  assertEquals(
    found({ pushes, runs, jumps: [{ ...jump, ms: 600_000 }] }),
    {},
    "by the store's clock the lock has expired",
  );
});

Deno.test("soak account: a worker whose supervisor was killed may start a job before it notices", () => {
  const killed = incident("gone", 9_000, 9_000, { pid: 100 });
  const locked = { kind: "file locked", from: 9_500, to: 14_000 };
  assertEquals(found({ runs: [run(), second], incidents: [killed], outages: [locked] }), { gone: 1 });
  assertEquals(found({ runs: [run({ start: 11_100, end: 11_200 }), second], incidents: [killed], outages: [locked] }), {
    unexplained: 1,
  });
});

Deno.test("soak failures: a start that loses a child at once is none, a later end is", () => {
  const ending = { name: "worker-1", pid: 1, t: 50_000, ranMs: 900, how: "code 137", asked: false };
  const evidence = { runs: [], outages: [], incidents: [incident("gone", 49_900, 49_900, { pid: 2, parent: 1 })] };
  assertEquals(failuresOf([ending], evidence), []);
  assertEquals(failuresOf([{ ...ending, ranMs: 45_000 }], evidence).length, 1);
  assertEquals(failuresOf([ending], { ...evidence, incidents: [] }).length, 1);
});

Deno.test("soak account: a job that was cancelled before it ran does not run, and is not lost", () => {
  const cancelled = push({ class: "", from: 9_500, t: 9_600, answer: "removed" });
  assertEquals(found({ pushes: [push(), cancelled] }), {});
  assertEquals(found({ pushes: [push(), cancelled], runs: [run()] }), { unexplained: 1 });
});

Deno.test("soak account: a limited queue that runs one job too many is over its limit", () => {
  const runs = ["a", "b", "c", "d"].map((jid) => run({ jid, run: jid, queue: "narrow" }));
  assertEquals(found({ runs }), { overLimit: 4 });
  assertEquals(found({ runs: runs.slice(1) }), {});
});

Deno.test("soak account: a cron occurrence is a job, not two and not none", () => {
  const at = (second: number) => `tick 2026-01-01T00:00:0${second}.000Z`;
  const runs = [1, 2, 4, 4].map((second, i) => run({ jid: `${i}`, run: `${i}`, occurrence: at(second) }));
  const { cronTwice, cronMissed }: Account = account({ ...EMPTY, runs });
  assertEquals([cronTwice.length, cronMissed], [1, [at(3)]]);
});

Deno.test("soak plan: the same seed gives the same plan, and one worker is left alone at any time", () => {
  const options = {
    durationMs: 60_000,
    disturbances: processDisturbances(3_000),
    workers: 3,
    remotes: 1,
    gateways: 1,
    pushers: 1,
  };
  const planned = plan(new Random(7), options);
  assertEquals(
    planned,
    plan(new Random(7), { ...options, disturbances: processDisturbances(3_000) }).map((one, i) => ({
      ...one,
      disturbance: planned[i]!.disturbance,
    })),
  );
  const busiest = Math.max(
    ...planned.map(({ at }) =>
      new Set(
        planned.filter((one) => one.target < 3 && one.at <= at && one.at + one.forMs >= at).map(({ target }) => target),
      ).size
    ),
  );
  assertEquals(planned.length > 30 && busiest <= 2, true, `${planned.length} disturbances, ${busiest} workers at once`);
});

Deno.test("soak account: what an operator did explains where a job is, and no more", () => {
  const act = (answer: Push["answer"], t: number) => push({ class: "", answer, from: t, t });
  assertEquals(found({ pushes: [push(), act("killed", 9_500)], dead: ["a"] }), {});
  assertEquals(found({ pushes: [push()], dead: ["a"] }), { wronglyDead: 1 });
  assertEquals(found({ pushes: [push(), act("killed", 9_500)], runs: [run()] }), { unexplained: 1 });
  assertEquals(found({ pushes: [push(), act("killed", 9_500), act("requeued", 9_700)], runs: [run()] }), {});
  assertEquals(found({ pushes: [push(), act("removed", 9_500)] }), {});
  assertEquals(found({ pushes: [push(), act("tried", 9_500)] }), {});
  const again = [run(), second];
  assertEquals(found({ pushes: [push(), act("requeued", 9_500)], runs: again }), { requeued: 1 });
  assertEquals(found({ pushes: [push()], runs: again }), { unexplained: 1 });
  assertEquals(found({ pushes: [push({ class: "Foreign" })], dead: ["a"] }), {});
  assertEquals(found({ pushes: [push({ class: "Foreign" })] }), { lost: 1 });
});

Deno.test("soak incidents: those of a gateway are those of its programs, also of one that ends meanwhile", async () => {
  const incidents = new Incidents(() => {});
  let program = 1;
  incidents.dependentsOf = (pid) => pid === 9 ? [program] : [];
  await incidents.over("frozen", "away", 9, () => Promise.resolve(program = 2));
  assertEquals(incidents.incidents.map(({ kind, pid }) => [kind, pid]), [
    ["frozen", 9],
    ["gateway frozen", 1],
    ["gateway frozen", 2],
  ]);
});
