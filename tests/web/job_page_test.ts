import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { bury, onBothStores, push, workerRecord } from "./site.ts";
import { processKey } from "../../src/processes.ts";
import type { RunningJobRecord } from "../../src/store/port/workers.ts";
import type { Store } from "../../src/store/admin/store.ts";
import { keepRecord } from "../support/records.ts";

const MINUTE_MS = 60_000;

/** The steps of a job's timeline, as text; the current one begins with `now: `. */
function steps(html: string): string[] {
  const list = (/<ol class="timeline">(.*?)<\/ol>/s.exec(html)?.[1] ?? "")
    // The exact time stands after each relative one.
    .replaceAll(/ <time class="exact" datetime="[^"]+" data-exact="true">[\d :-]+ UTC<\/time>/g, "");
  return [...list.matchAll(/<li class="([^"]*)"[^>]*>(.*?)<\/li>/gs)].map(([, kind, inner]) => {
    const text = inner!.replace(/<[^>]*>/g, " ").replace(/\s+/g, " ").trim();
    return kind!.includes("now") ? `now: ${text}` : text;
  });
}

async function beat(store: Store, busy: number, work: readonly RunningJobRecord[] = []): Promise<void> {
  await store.workers.heartbeat(workerRecord("web1:7:abc", { concurrency: 1, busy, work }), MINUTE_MS);
}

onBothStores("a failed job shows a timeline with each attempt's error, and its log", async (site) => {
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
  await keepRecord(store, {
    jid: "d1",
    ttlMs: MINUTE_MS,
    body: JSON.stringify({
      jid: "d1",
      log: ["line 1", "line 2"],
      error: {
        class: "IOError",
        message: "the last one",
        stack: [
          "at read (file:///app/h.js:2:26)",
          "at run (ext:deno_node/async_hooks.ts:104:16)",
          "at x (node:timers:1)",
        ],
      },
    }),
  });
  const { text } = await visitor().visit("/jobs/d1");
  // The stack of its record: its payload keeps none without the option backtrace. Frames of others are folded.
  assertMatch(text, /<pre[^>]*aria-label="Stack">at read \(file:\/\/\/app\/h\.js:2:26\)<\/pre>/);
  assertMatch(text, /<summary>2 frames of jobs<\/summary><pre[^>]*>at run \(ext:/);
  const shown = steps(text);
  assertMatch(shown[0]!, /^Pushed (59m|1h)/);
  assertEquals(shown[1], "Attempts 1 to 2 failed errors not kept");
  assertEquals(
    shown.slice(2, -1).map((step) => /^Attempt (\d+) failed .* (Error\d+): /.exec(step)?.slice(1).join(" ")),
    [
      ...Array.from({ length: 10 }, (_, i) => `${i + 3} Error${i + 3}`),
    ],
  );
  const iso = (minutes: number) => new Date(at(minutes) * 1_000).toISOString();
  for (const minutes of [31, 40]) assertStringIncludes(text, `datetime="${iso(minutes)}"`);
  assertMatch(shown.at(-1)!, /^now: Moved to dead (now|\S+ ago)/);
  assert(!text.includes("abcdefghijklmnop"));
  assertStringIncludes(text, "line 1\nline 2");
});

onBothStores("shows Sidekiq's failures of a job as far as Sidekiq stores them", async ({ store, visitor }) => {
  await bury(store, "d1", { failed_at: 1.7e9, retried_at: 1.7e9 + 60, retry_count: 2, errors: "not a list" });
  const { text } = await visitor().visit("/jobs/d1");
  const shown = steps(text).filter((step) => step.startsWith("Attempt"));
  assertEquals(shown.map((step) => step.replace(/ \d+[a-z].*? ago( \w+ later)?/, "")), [
    "Attempt 1 failed (error not kept)",
    "Attempt 3 failed RangeError: no luck",
  ]);
});

onBothStores(
  "the first job of a paused group or queue isn't next in line: its timeline has the pause",
  async (site) => {
    const { store, visitor } = site;
    const large = { class: "HardJob", args: ["x".repeat(3 * 1024 * 1024)] };
    for (const [jid, rest] of [["g1", {}], ["g2", {}], ["g3", large]] as const) {
      const job = { jid, class: "HardJob", args: [], ...rest, queue: "exports", group: "acme" };
      await store.jobs.enqueue([{ jid, queue: "exports", group: "acme", payload: JSON.stringify(job) }]);
    }
    await push(store, "q1");
    const last = async (jid: string) => steps((await visitor().visit(`/jobs/${jid}`)).text).at(-1)!;
    assertMatch(await last("g1"), / next in line$/);
    await store.admin.configure("exports", { group: "acme", pause: 10 * MINUTE_MS });
    const until = String.raw`group &quot;acme&quot; is paused until \d{4}-\d\d-\d\d \d\d:\d\d UTC, in (10m|9m\S*)$`;
    assertMatch(await last("g1"), new RegExp(`^now: Queued in exports (now|\\S+ ago) (\\S+ later )?${until}`));
    assertMatch(await last("g2"), new RegExp(` 1 before it; ${until}`));
    assertMatch(await last("g3"), new RegExp(` 2 before it; ${until}`));
    await store.admin.configure("exports", { group: "acme", pause: true });
    assertMatch(await last("g1"), / group &quot;acme&quot; is paused until it is resumed$/);
    assertMatch(await last("q1"), / next in line$/);
    await store.admin.configure("default", { pause: true });
    assertMatch(await last("q1"), / queue &quot;default&quot; is paused until it is resumed$/);
  },
);

onBothStores("a waiting job shows its position and each reason why it waits", async ({ store, visitor }) => {
  for (const jid of ["q1", "q2", "q3"]) await push(store, jid);
  const someone = visitor();
  const why = async (jid: string) =>
    [...(await someone.visit(`/jobs/${jid}`)).text.matchAll(/<li>(.*?)<\/li>/gs)].map(([, reason]) =>
      // The heartbeat of this test isn't renewed.
      reason!.replace(/, as of \S+ ago/, "")
    );
  assertMatch(
    steps((await someone.visit("/jobs/q3")).text).at(-1)!,
    /^now: Queued in default (now|\S+ ago).* 2 before it$/,
  );
  assertMatch(steps((await someone.visit("/jobs/q1")).text).at(-1)!, / next in line$/);
  const none = "No worker is online. Start one with jobs run handlers.js -q default, " +
    "or the program of a worker over HTTP, such as python3 worker.py.";
  assertEquals(await why("q1"), [none]);
  const [shown] = ((await someone.api("GET", "/jobs/q3")).value as { jobs: Record<string, unknown>[] }).jobs;
  assertEquals([shown!["position"], shown!["why"]], [3, [none]]);
  await beat(store, 1);
  assertEquals(await why("q1"), ["All processors of its queue are busy."]);
  await beat(store, 0);
  assertEquals(await why("q1"), ["Nothing blocks it: a worker fetches it in its turn."]);
  await store.admin.configure("default", { limit: { starts: { count: 1, perMs: MINUTE_MS } } });
  const [lease] = await store.jobs.take({ queues: ["default"], limit: 1, worker: "web1:7:abc" });
  assertMatch(
    (await why("q2"))[0]!,
    /^Queue &quot;default&quot; is at its limit: 1 of 1 started in the last 1m, next in \d+/,
  );
  await store.admin.configure("default", { limit: {} });
  await store.jobs.settle("web1:7:abc", [{ kind: "release", token: lease!.token }]);
  await store.admin.configure("*", { pause: 10 * MINUTE_MS });
  await store.admin.configure("default", { pause: true });
  const [all, own, ...more] = await why("q2");
  assertMatch(all!, /^All queues are paused until <time [^>]+>\d{4}-\d\d-\d\d \d\d:\d\d UTC<\/time>, in (10m|9m)/);
  assertEquals([own, more], [
    "Queue &quot;default&quot; is paused until it is resumed. jobs resume default resumes it.",
    [],
  ]);
  assertStringIncludes((await someone.visit("/")).text, "All queues are paused");
  assertStringIncludes((await someone.visit("/queues")).text, "all paused for ");
  await someone.submit("/queues/resume", {}, "/queues");
  await someone.submit("/queues/default/resume", {}, "/queues");
  assertEquals(await why("q2"), ["Nothing blocks it: a worker fetches it in its turn."]);
  const paused = async (verb: string) => (await someone.api("POST", `/${verb}`)).value;
  assertEquals([await paused("pause"), await paused("resume")], [{ paused: true }, { paused: false }]);
  assert((await store.admin.stats()).queues.every((queue) => !queue.paused));
});

onBothStores("a job whose group is at its limit says so", async ({ store, visitor }) => {
  await beat(store, 0);
  await store.admin.configure("default", { group: "acme", limit: { running: 1 } });
  for (const jid of ["g1", "g2"]) {
    const payload = JSON.stringify({ class: "Hard", args: [], jid, queue: "default", group: "acme" });
    await store.jobs.enqueue([{ jid, queue: "default", group: "acme", payload }]);
  }
  await store.jobs.take({ queues: ["default"], limit: 2, worker: "web1:7:abc" });
  const [shown] = ((await visitor().api("GET", "/jobs/g2")).value as { jobs: Record<string, unknown>[] }).jobs;
  assertEquals(shown!["why"], [
    'Group "acme" is at its limit: 1 of 1 running. jobs limit default --group acme --running 2 raises it.',
  ]);
});

onBothStores("a running job shows progress and log on its page and in the running list", async (site) => {
  const { store, visitor } = site;
  await push(store, "r1");
  await beat(store, 1);
  const [lease] = await store.jobs.take({ queues: ["default"], limit: 1, worker: "web1:7:abc" });
  const log = ["At row 1", "Using Bearer abcdefghijklmnop", "At row 3"];
  const job = { task: "processor-1", queue: "default", payload: lease!.payload, since: Date.now(), progress: "3 of 9" };
  await beat(store, 1, [{ ...job, lastLine: "At row 3", log }]);
  const someone = visitor();
  const { text } = await someone.visit("/jobs/r1");
  assertMatch(steps(text).at(-1)!, /^now: Attempt 1 is running (now|\S+ ago).* on web1:7:abc 3 of 9 \(33 %\)$/);
  assertStringIncludes(text, "At row 1\nUsing Bearer ••••••\nAt row 3");
  const [shown] = ((await someone.api("GET", "/jobs/r1")).value as { jobs: Record<string, unknown>[] }).jobs;
  assertEquals(shown!["log"], ["At row 1", "Using Bearer ••••••", "At row 3"]);
  assertEquals([shown!["progress"], shown!["why"], shown!["position"]], ["3 of 9", [], undefined]);
  const busy = (await someone.visit("/running")).text;
  assertMatch(busy, /<details id="log-web1:7:abc-processor-1"[^>]*><summary>At row 3<\/summary>/);
  assertStringIncludes(busy, "At row 1\nUsing Bearer ••••••\nAt row 3");
});

onBothStores(
  "a progress with a total or in percent has a bar of its share; any other is a text",
  async ({ store, visitor }) => {
    await push(store, "r1");
    await beat(store, 1);
    const [lease] = await store.jobs.take({ queues: ["default"], limit: 1, worker: "web1:7:abc" });
    const job = { task: "processor-1", queue: "default", payload: lease!.payload, since: Date.now() };
    const shown = async (progress: string) => {
      await beat(store, 1, [{ ...job, progress }]);
      const { text } = await visitor().visit("/running");
      const [, width, note] = /data-label="Progress">(?:<svg.*?width="([\d.]+)".*?<\/svg>)? ?<span class="note">([^<]*)/
        .exec(text)!;
      return [width, note];
    };
    assertEquals(await shown("64 of 8,000 rows"), ["0.6", "64 of 8,000 rows (0.8 %)"]);
    assertEquals(await shown("1,200/4800"), ["18.0", "1,200/4800 (25 %)"]);
    assertEquals(await shown("33.333333333333336 percent of a.csv"), ["24.0", "33.333333333333336 percent of a.csv"]);
    assertEquals(await shown("9 of 8"), [undefined, "9 of 8"]);
    assertEquals(await shown("4096 bytes"), [undefined, "4096 bytes"]);
  },
);

onBothStores(
  "the timeline tells attempts that ended with their worker from those that failed",
  async ({ store, visitor }) => {
    const died = { error_class: "WorkerDied", error_message: "Worker died 3 times while running it" };
    const errors = [
      { at: 1.7e9, error_class: "FirstError", error_message: "no luck", try: 1, worker: "web1:7:abc", ms: 2_100 },
      { at: 1.7e9 + 60, ...died, try: 2, worker: "web1:8:abc" },
    ];
    await bury(store, "d1", { ...died, errors, retry_count: 1, rescues: 3 });
    const dead = steps((await visitor().visit("/jobs/d1")).text);
    assertMatch(dead[1]!, /^Attempt 1 failed after 2\.1s .* on web1:7:abc FirstError: no luck$/);
    assertMatch(dead[2]!, /^Attempt 2 ended with its worker .* web1:8:abc died WorkerDied: /);
    assertEquals(dead.length, 4);
    // The worker died, and another one gave the job back to its queue.
    await push(store, "q1", { rescues: 2 });
    const [, rescued, queued] = steps((await visitor().visit("/jobs/q1")).text);
    assertMatch(rescued!, /^Worker died 2 times while it had the job; queued again$/);
    // The first death isn't counted as its fault.
    await push(store, "q2", { suspected: 1 });
    assertMatch(
      steps((await visitor().visit("/jobs/q2")).text)[1]!,
      /^Worker died while it had the job; queued again$/,
    );
    assertMatch(queued!, /^now: Queued in default/);
  },
);

onBothStores("an ended job shows a timeline with every attempt, and its log", async ({ store, visitor }) => {
  const record = (jid: string, more: Record<string, unknown>) => {
    const body = {
      jid,
      class: "Report",
      queue: "default",
      endedAt: Date.now(),
      startedAt: Date.now() - 1_234,
      ...more,
    };
    return keepRecord(store, { jid, ttlMs: MINUTE_MS, body: JSON.stringify(body) });
  };
  const errors = [{ at: 1.7e9, error_class: "FirstError", error_message: "no luck", worker: "web1:7:abc", ms: 2_100 }];
  const payload = { class: "Report", args: [], retry_count: 0, errors };
  await record("e1", { state: "succeeded", attempt: 2, elapsedMs: 1_234, payload, log: ["began", "ended"] });
  await record("e2", { state: "failed", attempt: 2, error: { class: "LastError", message: "worse" }, payload });
  await record("e3", { state: "succeeded", attempt: 1, payload: { class: "Report", args: [], suspected: 1 } });
  const someone = visitor();
  assertEquals(steps((await someone.visit("/jobs/e3")).text)[1], "Worker died while it had the job; queued again");
  const done = (await someone.visit("/jobs/e1")).text;
  assertStringIncludes(done, "began\nended");
  const [pushed, first, started, ended, ...more] = steps(done);
  assertEquals([pushed, more], ["Pushed", []]);
  assertMatch(first!, /^Attempt 1 failed after 2\.1s .* on web1:7:abc FirstError: no luck$/);
  assertMatch(started!, /^Attempt 2 started /);
  assertMatch(ended!, /^now: Succeeded (now|\S+ ago).* took 1\.2s$/);
  const failed = (await someone.visit("/jobs/e2")).text;
  assertMatch(steps(failed).at(-1)!, /^now: Failed .* LastError: worse$/);
  assertMatch(steps(failed)[1]!, /^Attempt 1 failed .* FirstError: no luck$/);
});

onBothStores("a traced job links to its trace, by an ID that can't change the link", async ({ store, visitor }) => {
  const trace = "4bf92f3577b34da6a3ce929d0e0e4736";
  await bury(store, "d1", { traceparent: `00-${trace}-00f067aa0ba902b7-01` });
  await bury(store, "d2", { traceparent: `00-"><script>-00f067aa0ba902b7-01` });
  const body = JSON.stringify({
    jid: "e1",
    class: "Report",
    queue: "default",
    state: "succeeded",
    endedAt: 1,
    payload: { traceparent: `00-${trace}-00f067aa0ba902b7-01` },
  });
  await keepRecord(store, { jid: "e1", ttlMs: Infinity, body });
  const linkIn = async (jid: string) =>
    /href="(https:[^"]*)"[^>]*>\s*Trace/.exec((await visitor().visit(`/jobs/${jid}`)).text)?.[1];
  assertEquals(await linkIn("d1"), `https://traces.example/t/${trace}`);
  assertEquals(await linkIn("e1"), `https://traces.example/t/${trace}`);
  assertEquals(await linkIn("d2"), undefined);
}, { traceUrl: "https://traces.example/t/{traceId}" });

onBothStores(
  "a cancel tells that the process of the job's worker has ended, before and after",
  async ({ store, visitor }) => {
    await push(store, "r1");
    // No process started then.
    const worker = workerRecord("web1:7:abc", { pid: Deno.pid, processKey: `${processKey()}0` });
    await store.workers.heartbeat(worker, MINUTE_MS);
    await store.jobs.take({ queues: ["default"], limit: 1, worker: worker.id });
    const why = "the process of worker web1:7:abc has ended without a stop: " +
      "its cancelled jobs end once its heartbeat has lapsed.";
    const someone = visitor();
    const asked = await someone.submit("/jobs/cancel", { jid: "r1" }, "/jobs/r1");
    assertStringIncludes(asked.text, "Its worker can&#39;t abort it: " + why);
    const done = await someone.submit("/jobs/cancel", { jid: "r1", confirmed: "yes" }, "/jobs/r1");
    assertStringIncludes(done.text, `Cancelling r1: ${why}`);
    assertStringIncludes(
      (await someone.visit("/jobs/r1")).text,
      "It was cancelled, and the process of its worker has ended without a stop: it ends once the heartbeat has lapsed.",
    );
  },
);
