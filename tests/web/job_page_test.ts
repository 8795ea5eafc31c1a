import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { bury, onBothStores, processRecord, push } from "./site.ts";
import type { RunningJobRecord } from "../../src/store/port/workers.ts";
import type { Store } from "../../src/store/admin/store.ts";

const MINUTE_MS = 60_000;

/** What stands in the diagram's boxes, by the state: those that were passed, and the one where it is. */
function states(text: string): Record<string, string> {
  const boxes = [...text.matchAll(/<li class="state-(\w+) (past|now)"[^>]*>(.*?)<\/li>/gs)];
  return Object.fromEntries(
    boxes.map((
      [, state, kind, inner],
    ) => [state, `${kind} ${inner!.replace(/<[^>]*>/g, " ").replace(/\s+/g, " ").trim()}`]),
  );
}

async function beat(store: Store, busy: number, work: readonly RunningJobRecord[] = []): Promise<void> {
  await store.workers.heartbeat(processRecord("web1:7:abc", { concurrency: 1, busy, work }), MINUTE_MS);
}

onBothStores("A failed job shows each try with its error, its states with their times, and its log", async (site) => {
  const { store, visitor } = site;
  const now = Math.floor(Date.now() / 1_000) + 0.5;
  const at = (minutes: number) => now - minutes * 60;
  await bury(store, "d1", {
    created_at: at(60),
    enqueued_at: at(10),
    failed_at: at(50),
    retried_at: at(9),
    retry_count: 11,
    error_class: "IOError",
    error_message: "the last one",
    errors: Array.from({ length: 10 }, (_, i) => ({
      at: at(40 - i),
      error_class: `Error${i + 3}`,
      error_message: `no luck, token=abc Bearer abcdefghijklmnop ${i + 3}`,
    })),
  });
  await store.results.keep({
    jid: "d1",
    ttlMs: MINUTE_MS,
    body: JSON.stringify({ jid: "d1", log: ["line 1", "line 2"] }),
  });
  const { text } = await visitor().visit("/jobs/d1");
  const rows = [...text.matchAll(/data-label="Try">(\d+)<.*?datetime="([^"]+)".*?class="error"[^>]*>(Error\d+)/gs)];
  assertEquals(rows.map(([, attempt, , error]) => [attempt, error]), [
    ...Array.from({ length: 10 }, (_, i) => [String(12 - i), `Error${12 - i}`]),
  ]);
  const iso = (minutes: number) => new Date(at(minutes) * 1_000).toISOString();
  assertEquals([rows[0]![2], rows[9]![2]], [iso(31), iso(40)]);
  assertStringIncludes(text, "the last 10 of 12");
  assert(!text.includes("abcdefghijklmnop"));
  assertStringIncludes(text, "line 1\nline 2");
  const { created, queue, running, retry, dead, ...rest } = states(text);
  assertEquals(rest, {});
  assertMatch(created!, /^past created (59m|1h)/);
  assertMatch(queue!, /^past in queue (now|\d+s ago)$/);
  assertMatch(running!, /^past running [89]m.* ago failed 12 times$/);
  assertEquals(retry, "past retry 11 times");
  assertMatch(dead!, /^now dead (now|\d+s ago)$/);
});

onBothStores("What Sidekiq wrote of its failures is shown as far as it goes", async ({ store, visitor }) => {
  await bury(store, "d1", { failed_at: 1.7e9, retried_at: 1.7e9 + 60, retry_count: 2, errors: "none of ours" });
  const { text } = await visitor().visit("/jobs/d1");
  const tries = [...text.matchAll(/data-label="Try">(\S+?)<.*?class="error"[^>]*>(.*?)</gs)];
  assertEquals(tries.map(([, attempt, error]) => [attempt, error]), [["3", "RangeError: no luck"], [
    "1",
    "(not kept)",
  ]]);
});

onBothStores("A waiting job shows its position, and everything that holds it up", async ({ store, visitor }) => {
  for (const jid of ["q1", "q2", "q3"]) await push(store, jid);
  const someone = visitor();
  const why = async (jid: string) =>
    [...(await someone.visit(`/jobs/${jid}`)).text.matchAll(/<li>(.*?)<\/li>/gs)].map(([, reason]) => reason);
  assertMatch(states((await someone.visit("/jobs/q3")).text).queue!, /^now in queue (now|\d+s ago) 2 before it$/);
  assertMatch(states((await someone.visit("/jobs/q1")).text).queue!, / next$/);
  assertEquals(await why("q1"), ["No process runs."]);
  const [shown] = ((await someone.api("GET", "/jobs/q3")).value as { jobs: Record<string, unknown>[] }).jobs;
  assertEquals([shown!["before"], shown!["whyNotRunning"]], [2, ["No process runs."]]);
  await beat(store, 1);
  assertEquals(await why("q1"), ["All processors of the processes that take its queue are busy."]);
  await beat(store, 0);
  assertEquals(await why("q1"), ["Nothing stands in its way: its turn comes."]);
  await store.admin.limit("default", { starts: { count: 1, perMs: MINUTE_MS } });
  const [lease] = await store.jobs.take({ queues: ["default"], limit: 1, owner: "web1:7:abc" });
  assertMatch((await why("q2"))[0]!, /^Queue default is at its limit: 1 of 1 started in the last 1m, the next in \d+/);
  await store.admin.limit("default", {});
  await store.jobs.settle("web1:7:abc", [{ kind: "release", token: lease!.token }]);
  await store.admin.pause("*", 10 * MINUTE_MS);
  await store.admin.pause("default");
  const [all, own, ...more] = await why("q2");
  assertMatch(all!, /^All queues are paused until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC, in (10m|9m)/);
  assertEquals([own, more], ["Queue default is paused, until somebody resumes it.", []]);
  assertStringIncludes((await someone.visit("/")).text, "All queues are paused: nothing is taken");
  assertStringIncludes((await someone.visit("/queues")).text, "all paused for ");
  await someone.submit("/queues/resume", {}, "/queues");
  await someone.submit("/queues/default/resume", {}, "/queues");
  assertEquals(await why("q2"), ["Nothing stands in its way: its turn comes."]);
  const paused = async (verb: string) => (await someone.api("POST", `/${verb}`)).value;
  assertEquals([await paused("pause"), await paused("resume")], [{ paused: true }, { paused: false }]);
  assert((await store.admin.stats()).queues.every((queue) => !queue.paused));
});

onBothStores("A running job shows how far it is and what it logs, on its page and among the busy", async (site) => {
  const { store, visitor } = site;
  await push(store, "r1");
  await beat(store, 1);
  const [lease] = await store.jobs.take({ queues: ["default"], limit: 1, owner: "web1:7:abc" });
  const log = ["At row 1", "Using Bearer abcdefghijklmnop", "At row 3"];
  const job = { task: "processor-1", queue: "default", payload: lease!.payload, since: Date.now(), progress: "3 of 9" };
  await beat(store, 1, [{ ...job, lastLine: "At row 3", log }]);
  const someone = visitor();
  const { text } = await someone.visit("/jobs/r1");
  assertMatch(states(text).running!, /^now running (now|\d+s ago) 3 of 9$/);
  assertStringIncludes(text, "At row 1\nUsing Bearer ••••••\nAt row 3");
  const [shown] = ((await someone.api("GET", "/jobs/r1")).value as { jobs: Record<string, unknown>[] }).jobs;
  assertEquals(shown!["log"], ["At row 1", "Using Bearer ••••••", "At row 3"]);
  assertEquals([shown!["progress"], shown!["whyNotRunning"], shown!["before"]], ["3 of 9", [], undefined]);
  const busy = (await someone.visit("/running")).text;
  assertMatch(busy, /<details id="log-web1:7:abc-processor-1"[^>]*><summary>Log<\/summary>/);
  assertStringIncludes(busy, "At row 1\nUsing Bearer ••••••\nAt row 3");
});

onBothStores("An ended job shows its states, every try and what it logged", async ({ store, visitor }) => {
  const record = (jid: string, more: Record<string, unknown>) => {
    const body = {
      jid,
      class: "Report",
      queue: "default",
      ended_at: Date.now(),
      started_at: Date.now() - 1_234,
      ...more,
    };
    return store.results.keep({ jid, ttlMs: MINUTE_MS, body: JSON.stringify(body) });
  };
  const errors = [{ at: 1.7e9, error_class: "FirstError", error_message: "no luck" }];
  const payload = { class: "Report", args: [], retry_count: 0, errors };
  await record("e1", { state: "done", attempt: 2, elapsed_ms: 1_234, payload, log: ["began", "ended"] });
  await record("e2", { state: "failed", attempt: 2, error: { class: "LastError", message: "worse" }, payload });
  const someone = visitor();
  const done = (await someone.visit("/jobs/e1")).text;
  assertStringIncludes(done, "began\nended");
  assertMatch(states(done).done!, /^now succeeded (now|\d+s ago)$/);
  assertMatch(states(done).running!, /^past running .*1\.2s$/);
  assertEquals(states(done).retry, "past retry try 2");
  const failed = (await someone.visit("/jobs/e2")).text;
  assertMatch(states(failed).dead!, /^now failed /);
  const tries = [...failed.matchAll(/data-label="Try">(\S+?)<.*?class="error"[^>]*>(.*?)</gs)];
  assertEquals(tries.map(([, attempt, error]) => [attempt, error]), [
    ["2", "LastError: worse"],
    ["1", "FirstError: no luck"],
  ]);
});
