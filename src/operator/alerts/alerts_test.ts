import { assert, assertEquals } from "@std/assert";
import type { CronRecord } from "../../cron/occurrence.ts";
import type { Stats } from "../../store/admin/admin.ts";
import type { ClassMetricsSeries } from "../../store/port/metrics.ts";
import type { WorkerInfo } from "../../store/port/workers.ts";
import type { Backlog } from "../query/backlog.ts";
import type { Situation } from "./alert.ts";
import { StoreError } from "../../store/port/errors.ts";
import { RUN_BOUNDS_MS } from "../../store/port/metrics.ts";
import type { RunningJobRecord } from "../../store/port/workers.ts";
import { alertsOf } from "./alerts.ts";
import { heldEntries, heldRuns } from "./cron_alerts.ts";

const NOW = 1_800_000_000_000;
const STATS: Stats = {
  processed: 0,
  failed: 0,
  enqueued: 0,
  scheduled: 0,
  retry: 0,
  dead: 0,
  running: 0,
  workers: 1,
  waits: { sleep: 0, wait: 0, child: 0 },
  queues: [],
};
const WORKER: WorkerInfo = {
  id: "web1:7:a",
  hostname: "web1",
  pid: 7,
  tag: "",
  labels: [],
  queues: ["default"],
  weights: {},
  concurrency: 5,
  version: "1",
  startedAt: NOW,
  heartbeatMs: 5_000,
  quiet: false,
  busy: 0,
  rss: 1,
  work: [],
  heartbeatAt: NOW,
  alive: true,
};
const QUEUE = { name: "default", size: 12, latencyMs: 10, paused: false };

function alerts(situation: Partial<Situation>) {
  return alertsOf({
    now: NOW,
    stats: STATS,
    workers: [WORKER],
    processes: new Map(),
    metrics: [],
    today: { processed: 0, failed: 0 },
    samples: [],
    cron: [],
    cronEnds: new Map(),
    cronHeld: new Map(),
    unhandled: [],
    crashes: [],
    suspects: [],
    retrying: [],
    later: new Set(),
    engine: "sqlite",
    serverFindings: [],
    roundTripMs: 1,
    pauses: new Map(),
    cronPauses: new Map(),
    limits: new Map(),
    heldGroups: [],
    backlogs: new Map(),
    stuck: [],
    ...situation,
  });
}

function measured(name: string, processed: number, failed: number): ClassMetricsSeries {
  const series = new Array(60).fill(0).with(-1, processed);
  const failedSeries = new Array(60).fill(0).with(-1, failed);
  return { class: name, processed, failed, workedMs: 0, histogram: [], series, failedSeries };
}

const summary = (all: ReturnType<typeof alerts>) =>
  all.map(({ kind, title, actions }) => [kind, title, actions.map(({ label, path }) => `${label} → ${path}`)]);

Deno.test("reports nothing while all is well", () => {
  assertEquals(alerts({ stats: { ...STATS, enqueued: 12, queues: [QUEUE] }, metrics: [measured("A", 500, 10)] }), []);
});

Deno.test("reports a worker whose event loop is blocked, and a job that ignores its signal", () => {
  const blocked = { since: NOW - 60_000, task: "processor-1", class: "Spin", jid: "s1" };
  const work = [{
    task: "processor-1",
    queue: "q",
    payload: '{"class":"Hang","jid":"h1"}',
    since: NOW,
    abortReason: "Timeout",
  }];
  const found = alerts({ workers: [{ ...WORKER, blocked }, { ...WORKER, id: "web2:7:b", work }] });
  assertEquals(summary(found), [
    ["bad", "Spin s1 blocks the event loop of web1:7:a, for 1m", [
      "Show job → /jobs/s1",
      "Cancel job → /jobs/cancel",
      "Stop worker → /workers/web1%3A7%3Aa/stop",
    ]],
    ["warn", "Hang h1 on web2:7:b ignores its signal (Timeout) and has run for 0ms", [
      "Show job → /jobs/h1",
      "Stop worker → /workers/web2%3A7%3Ab/stop",
    ]],
  ]);
  assertEquals(alerts({ workers: [{ ...WORKER, alive: false, blocked }] }).length, 1, "that it is offline says enough");
});

Deno.test("folds what one job or worker causes into one alert, with one command", () => {
  const work = [1, 2, 3].map((n) => ({
    ...{ task: `processor-${n}`, queue: "default", payload: `{"class":"Deaf","jid":"d${n}"}`, since: NOW - n * 60_000 },
    abortReason: n === 1 ? "Cancelled" : "Timeout",
  }));
  const busy = { ...WORKER, concurrency: 3, busy: 3, work };
  const behind = [{ ...QUEUE, latencyMs: 80_000 }, { ...QUEUE, name: "low", latencyMs: 90_000 }];
  const workers = [{ ...busy, queues: ["default", "low"] }];
  const [alert, ...others] = alerts({ stats: { ...STATS, queues: behind }, workers });
  assertEquals(others, []);
  assertEquals([alert!.title, alert!.command], [
    "3 jobs on web1:7:a ignore their signals",
    "jobs stop web1:7:a",
  ]);
  assert(
    alert!.detail!.endsWith(
      'Queue "default" is 1m20s behind (12 jobs waiting). Queue "low" is 1m30s behind (12 jobs waiting).',
    ),
    alert!.detail,
  );
});

Deno.test("reports a job whose worker ended with it before it is dead", () => {
  assertEquals(words(alerts({ suspects: [{ class: "Poison", jid: "p1", rescues: 2, suspected: 1 }] })), [[
    "Poison p1: its worker ended with it, 2 of 3 times: at the last (maxRescues) it is dead",
    "A cancel keeps it from the next worker; isolate: true for the class protects them.",
    "jobs cancel p1",
  ]]);
});

Deno.test("reports once a host whose circuit is open in several workers", () => {
  const circuit = {
    host: "app:1",
    state: "open",
    failures: 7,
    since: NOW - 60_000,
    error: "connect ECONNREFUSED",
  } as const;
  const workers = [
    { ...WORKER, circuits: [circuit] },
    { ...WORKER, id: "b", circuits: [{ ...circuit, state: "halfOpen" as const, since: NOW }] },
    { ...WORKER, id: "c", alive: false, circuits: [{ ...circuit, host: "old:1" }] },
  ];
  const found = alerts({ workers }).filter(({ about }) => about === "jobs");
  assertEquals(summary(found), [
    ["bad", "The circuit of app:1 is open for 1m: its jobs wait", ["Show workers → /workers"]],
  ]);
  assertEquals(found[0]!.detail!.startsWith("Connect ECONNREFUSED (2 workers). "), true, found[0]!.detail);
});

Deno.test("reports what the store's server says of itself, with the statement that helps", () => {
  const finding = {
    message: "session 7 (psql, idle in transaction for 90 s): …",
    cure: "SELECT pg_terminate_backend(7)",
  };
  assertEquals(alerts({ serverFindings: [finding] }).map(({ title, detail, command }) => [title, detail, command]), [[
    "Dead rows aren't removed, which slows down each take",
    "Session 7 (psql, idle in transaction for 90 s): ….",
    "SELECT pg_terminate_backend(7)",
  ]]);
});

Deno.test("a store that rejects writes is the cause of all that follows from it", () => {
  const failedWrite = { error: new StoreError("full", "No space left"), since: NOW - 180_000, url: "sqlite:/var/a.db" };
  const stats = { ...STATS, enqueued: 12, queues: [{ ...QUEUE, latencyMs: 80_000 }] };
  const stuck = [{ id: "b", dead: 1, pending: 0, total: 1, state: "stuck" } as unknown as Situation["stuck"][number]];
  const found = alerts({ failedWrite, stats, workers: [{ ...WORKER, heartbeatAt: NOW - 60_000 }], stuck });
  assertEquals(found.map(({ title, command }) => [title, command]), [
    ["A write to the store failed, for 3m now: No space left", "df -h /var"],
    ["Batch b waits for 1 dead job", "jobs batch retry b"],
  ]);
});

Deno.test("speaks of a renamed webhook in its words: no handler can be written for its notices", () => {
  const unhandled = [{ class: "webhook:old one", queue: "webhooks", since: NOW - 60_000 }];
  const [found] = alerts({ unhandled, workers: [{ ...WORKER, queues: ["webhooks"], classes: ["webhook:new"] }] });
  assertEquals([found!.title, found!.command], [
    'No worker has the webhook "old one": its notices wait',
    "jobs list queued -q webhooks --class 'webhook:old one'",
  ]);
  assertEquals(found!.detail?.includes("jobs delete --all queued -q webhooks --class 'webhook:old one'"), true);
});

Deno.test("reports online workers that differ in what they have declared, and whose options are in force", () => {
  const old = { ...WORKER, id: "old:1:a" };
  const canary = { ...WORKER, id: "canary:1:a" };
  const declare = (worker: string, options: string, since: number, kind: "class" | "webhook" = "class") =>
    ({ kind, name: "Report", worker, body: options, since }) as const;
  const declarations = [
    declare(canary.id, '{"queue":"reports2","retry":3}', NOW - 60_000),
    declare(old.id, '{"retry":3,"queue":"reports"}', NOW - 900_000),
  ];
  const [found, ...more] = alerts({ workers: [old, canary], declarations });
  assertEquals([found!.title, more], [
    "Workers differ in the options of class Report: those of canary:1:a are in force",
    [],
  ]);
  assertEquals(
    found!.detail,
    'Queue: "reports2", not "reports": worker old:1:a has the latter. The worker in force has declared them 1m ago. ' +
      "When it stops, those of the others are in force.",
  );
  assertEquals(
    alerts({ workers: [old, { ...canary, alive: false }], declarations }).map(({ title }) => title).filter((title) =>
      title.startsWith("Workers differ")
    ),
    [],
  );
  const same = declarations.map((one) => ({ ...one, body: "{}" }));
  assertEquals(alerts({ workers: [old, canary], declarations: same }), []);
});

Deno.test("reports an outbox whose database fails, and refused and late rows", () => {
  const seen = (outbox: NonNullable<WorkerInfo["outbox"]>) =>
    alerts({ workers: [WORKER, { ...WORKER, id: "b", outbox }] });
  const counts = { waiting: 0, refused: 0, pushed: 5 };
  assertEquals(seen(counts), []);
  const [down] = seen({ ...counts, refused: 2, error: "connect ECONNREFUSED", since: NOW - 60_000 });
  assertEquals([down!.kind, down!.title], ["bad", "The outbox has failed for 1m: its jobs wait"]);
  assertEquals(summary(seen({ ...counts, refused: 1, oldestMs: 60_000 })), [
    ["warn", "1 row of the outbox was refused", []],
    ["warn", "The outbox is 1m behind", []],
  ]);
  assertEquals(seen({ ...counts, oldestMs: 59_999 }), []);
});

Deno.test("reports offline workers, failures and growing retries, the worst first", () => {
  const offline = [1, 2, 3].map((pid) => ({ ...WORKER, pid, alive: false, heartbeatAt: NOW - 180_000 }));
  const found = alerts({
    stats: { ...STATS, retry: 46_801 },
    workers: [WORKER, ...offline],
    metrics: [measured("A", 1_000, 960), measured("B", 500, 450)],
    samples: [{ at: NOW - 600_000, processed: 0, failed: 0, retrying: 12_000 }],
  });
  assertEquals(summary(found), [
    ["bad", "3 workers are offline", ["Show workers → /workers"]],
    ["bad", "94 % of attempts failed in the last 15 minutes", [
      "Show errors → /retrying",
    ]],
  ]);
  // That retries grow follows from it.
  assert(found[1]!.detail!.endsWith("Retries are growing: 46,801 jobs, +34,801 in 10m."), found[1]!.detail);
});

Deno.test("falls back to the day's failures without recorded attempts", () => {
  const today = { processed: 200, failed: 50 };
  assertEquals(words(alerts({ today })), [
    ["25 % of attempts failed today", "50 of 200 attempts.", "jobs errors"],
  ]);
  const failing = (name: string, queue: string, ago: number) => ({ class: name, queue, since: NOW - ago });
  const retrying = [failing("A", "a", 90_000), failing("B", "b c", 40_000), failing("B", "b c", 50_000)];
  const [found] = alerts({ today: { processed: 200, failed: 150 }, retrying });
  assertEquals(words([found!]), [[
    "75 % of attempts failed today",
    "150 of 200 attempts, most of class B, for 50s. jobs pause 'b c' stops the damage.",
    "jobs errors --class B",
  ]]);
  assertEquals(found!.actions[1], { label: "Pause queue b c", path: "/queues/b%20c/pause", acts: true });
  const paused = (name: string) =>
    alerts({
      today: { processed: 200, failed: 150 },
      retrying,
      stats: { ...STATS, queues: [{ ...QUEUE, name, size: 0, paused: true }] },
      pauses: new Map([[name, { at: NOW - 20_000, user: "ann" }]]),
    })[0]!;
  assertEquals([paused("b c").detail, paused("b c").actions.length], [
    `150 of 200 attempts, most of class B, for 50s. Queue "b c" is paused, for 20s now, by ann, which stops the damage. ` +
    "jobs resume 'b c' continues it, once the cause is mended.",
    1,
  ]);
  assertEquals(paused("a").detail?.includes("jobs pause 'b c' stops the damage."), true);
});

Deno.test("names the slowest held groups of a queue that is behind, with the commands that help", () => {
  const group = { size: 1, latencyMs: 90_000, running: 0, weight: 1, isOwn: false, paused: false };
  const limit = { running: 1, taken: 1, started: 0, freeInMs: undefined };
  const set = { at: NOW - 300_000, user: "ann", details: "1 at once" };
  const full = (name: string) => ({ queue: "default", group: { ...group, name, limit }, set });
  const paused = { queue: "default", group: { ...group, name: "b c", paused: true }, set };
  const behind = (count: number, ...heldGroups: Situation["heldGroups"]) => {
    const queues = [{ ...QUEUE, latencyMs: 90_000, heldGroups: count }];
    return words(alerts({ stats: { ...STATS, queues }, heldGroups }))[0]!.slice(1);
  };
  const fullText = (name: string) => `Group "${name}" is at its limit: 1 of 1 running, set 5m ago by ann.`;
  const pausedText = 'Group "b c" is paused until it is resumed, for 5m now, by ann.';
  const raise = "jobs limit default --each-group --running 2";
  const resume = "jobs resume default --group 'b c'";
  assertEquals(behind(1, full("a")), [`1 group held. ${fullText("a")}`, raise]);
  assertEquals(behind(1, paused), [`1 group held. ${pausedText}`, resume]);
  assertEquals(behind(4, full("a"), paused, full("d"), full("e")), [
    `4 groups held. ${fullText("a")} ${pausedText} ${resume} resumes it. ${fullText("d")} ` +
    "jobs list groups default shows the others.",
    raise,
  ]);
  const elsewhere = { ...full("a"), queue: "other" };
  assertEquals(behind(1, elsewhere), ["1 group held: at the limit, or paused.", "jobs list groups default"]);
});

Deno.test("names a class that fails while the others don't", () => {
  const found = alerts({ metrics: [measured("A", 5_000, 1), measured("Webhook", 100, 31)] });
  assertEquals(summary(found), [
    ["warn", "31 % of Webhook failed in the last 15 minutes", [
      "Show errors → /retrying",
      "Show class → /classes/Webhook",
    ]],
  ]);
});

Deno.test("doesn't report few retries, or many that decrease", () => {
  const at = (retrying: number) => [{ at: NOW - 600_000, processed: 0, failed: 0, retrying }];
  assertEquals(alerts({ stats: { ...STATS, retry: 90 }, samples: at(0) }), []);
  assertEquals(alerts({ stats: { ...STATS, retry: 900 }, samples: at(1_000) }), []);
  assertEquals(alerts({ stats: { ...STATS, retry: 900 }, samples: at(400) }).length, 1);
});

Deno.test("reports a queue that is paused, behind, or without a worker, with the button that helps", () => {
  const queues = [
    { ...QUEUE, name: "mail", paused: true },
    { ...QUEUE, name: "low" },
    { ...QUEUE, latencyMs: 300_000 },
  ];
  assertEquals(summary(alerts({ stats: { ...STATS, enqueued: 36, queues } })), [
    ["bad", 'Queue "low" has no worker (12 jobs waiting)', ["Show queue → /queues/low"]],
    ["warn", 'Queue "mail" is paused (12 jobs waiting)', [
      "Resume queue mail → /queues/mail/resume",
      "Show queue → /queues/mail",
    ]],
    ["warn", 'Queue "default" is 5m behind (12 jobs waiting)', ["Show queue → /queues/default"]],
  ]);
});

Deno.test("reports that no worker is running, or that all are quiet", () => {
  const stats = { ...STATS, enqueued: 3 };
  assertEquals(alerts({ stats, workers: [] })[0]!.title, "No worker is running: 3 jobs wait");
  const [quiet] = alerts({ stats, workers: [{ ...WORKER, quiet: true }] });
  assertEquals(quiet!.actions, [{ label: "Resume all workers", path: "/workers/resume", acts: true }]);
});

Deno.test("reports many queues that are behind as one, and none while no worker is online", () => {
  const queues = ["a", "b", "c", "d", "e"].map((name, i) => ({ ...QUEUE, name, latencyMs: 61_000 + 60_000 * i }));
  const stats = { ...STATS, enqueued: 60, queues };
  const [alert, ...others] = alerts({ stats, workers: [{ ...WORKER, queues: queues.map(({ name }) => name) }] });
  assertEquals([alert!.title, others], ["5 queues are behind", []]);
  assert(alert!.detail!.startsWith("e 5m1s, d 4m1s, c 3m1s and 2 more."), alert!.detail);
  assertEquals(alerts({ stats, workers: [] }).map(({ title }) => title), ["No worker is running: 60 jobs wait"]);
});

Deno.test("reports a class without a handler", () => {
  const [alert] = alerts({ unhandled: [{ class: "Gone", queue: "default" }] });
  assertEquals(
    [alert!.title, alert!.command, alert!.actions.map(({ acts }) => acts ?? false)],
    ['No worker of queue "default" has a handler for Gone', "jobs run handlers.js -q default", [false]],
  );
});

Deno.test("names the workers that take the jobs of a class and lack it", () => {
  const ids = (count: number) =>
    Array.from({ length: count }, (_, i) => ({ ...WORKER, id: `w${i}`, classes: ["Other"] }));
  const detail = (count: number) =>
    alerts({
      unhandled: [{ class: "Mail", queue: "default", since: NOW - 60_000 }],
      workers: [...ids(count), { ...WORKER, id: "low", queues: ["low"] }, { ...WORKER, id: "gone", alive: false }],
    }).find(({ about }) => about === "jobs")!.detail;
  assertEquals(detail(0), "Its jobs wait for one, for 1m.");
  assertEquals(
    detail(1),
    "Its jobs wait for one, for 1m. w0 takes them and lacks the class: start a worker whose handlers include Mail.",
  );
  assertEquals(detail(5)!.includes(" w0, w1, w2 and 2 more take them and lack the class: "), true, detail(5));
});

Deno.test("offers to run a cron entry that is overdue or missed runs, unless it is paused", () => {
  const schedule = { everyMs: 60_000, anchor: 0 } as const;
  const entry = {
    name: "sync",
    definition: { name: "sync", class: "Sync", args: [], schedule } as never,
    state: { schedule, considered: NOW - 600_000 } as never,
    next: undefined,
    live: undefined,
    isLoaded: true,
    last: undefined,
  };
  const [late] = alerts({ cron: [entry] });
  assert(late!.title.startsWith('Cron entry "sync" did not run: due '), late!.title);
  assertEquals(late!.actions[0], { label: "Run now", path: "/cron/sync/run", acts: true, fields: { once: "first" } });
  const detail = (more: Partial<Situation>) => alerts({ cron: [entry], ...more })[0]!.detail;
  assertEquals(detail({ workers: [] }), "No worker is running.");
  assertEquals(
    detail({ cron: [{ ...entry, isLoaded: false }] }),
    "No running worker has it in its configuration: add it there and restart the worker. The command runs it once.",
  );
  const paused = { ...entry, state: { schedule, considered: NOW - 600_000, paused: true } as never };
  assertEquals(alerts({ cron: [paused] }).map(({ command }) => command), ["jobs cron resume sync"]);
  const record = { outcome: "missed", scheduledAt: NOW, decidedAt: NOW - 1_000, count: 4 } as const;
  const missed = { ...entry, state: { schedule, considered: NOW } as never, last: record };
  assertEquals(alerts({ cron: [missed] })[0]!.title, 'Cron entry "sync" missed 4 runs');
});

Deno.test("reports paused cron entries after the others, with since when and by whom", () => {
  const schedule = { everyMs: 60_000, anchor: 0 } as const;
  const entry = (name: string, paused: boolean, considered = NOW) => ({
    name,
    definition: { name, class: "Sync", args: [], schedule } as never,
    state: { schedule, considered, ...(paused && { paused }) } as never,
    next: undefined,
    live: undefined,
    isLoaded: true,
    last: undefined,
  });
  const cronPauses = new Map([["sync", { at: NOW - 540_000, user: "root" }]]);
  const late = entry("late", false, NOW - 600_000);
  const found = alerts({ cron: [entry("sync", true), entry("a b", true), late], cronPauses });
  assertEquals(found.map(({ kind, title, command }) => [kind, title, command]), [
    ["bad", found[0]!.title, "jobs cron run late"],
    ["warn", 'Cron entry "sync" is paused, for 9m now, by root', "jobs cron resume sync"],
    ["warn", 'Cron entry "a b" is paused', "jobs cron resume 'a b'"],
  ]);
  assertEquals(found[1]!.actions, [
    { label: "Resume entry sync", path: "/cron/sync/resume", acts: true },
    { label: "Show entry", path: "/cron/sync" },
  ]);
  const many = alerts({ cron: ["a", "b", "c", "sync", "z"].map((name) => entry(name, true)), cronPauses });
  assertEquals(many.map(({ title, detail, command }) => [title, detail, command]), [
    ["5 cron entries are paused", "a, b, c, sync and 1 more.", "jobs cron list"],
  ]);
});

Deno.test("reports a cron entry whose last job failed or is dead, with the job", () => {
  const schedule = { everyMs: 60_000, anchor: 0 } as const;
  const entry = (name: string, more: Partial<CronRecord> = {}) => ({
    name,
    definition: { name, class: "Sync", args: [], schedule } as never,
    state: { schedule, considered: NOW } as never,
    next: undefined,
    live: undefined,
    isLoaded: true,
    last: { outcome: "enqueued", scheduledAt: NOW, decidedAt: NOW - 60_000, jid: name, ...more } as const,
  });
  const cron = [
    entry("died"),
    entry("done"),
    entry("unknown"),
    entry("old", { decidedAt: NOW - 90_000_000 }),
    // The job that blocked it.
    entry("skipped", { outcome: "skipped", jid: "died" }),
  ];
  const cronEnds = new Map([["died", { state: "dead" }], ["done", { state: "succeeded" }], ["old", { state: "dead" }]]);
  assertEquals(summary(alerts({ cron, cronEnds })), [[
    "warn",
    'The last job of cron entry "died" is dead',
    ["Show job → /jobs/died", "Run now → /cron/died/run", "Show entry → /cron/died"],
  ]]);
});

Deno.test("reports a cron entry whose runs an unended job holds up, with the job", () => {
  const record = (outcome: CronRecord["outcome"], minutes: number, jid = "h1") => ({
    outcome,
    scheduledAt: NOW - minutes * 60_000,
    decidedAt: NOW - minutes * 60_000,
    jid,
  });
  const skipped = [1, 2, 3, 4].map((minutes) => record("skipped", minutes));
  const history = [...skipped, record("enqueued", 5), record("skipped", 6, "h0"), record("skipped", 7)];
  assertEquals(heldRuns("h1", history), { jid: "h1", count: 4, since: NOW - 240_000 });
  assertEquals(heldRuns("h1", [record("manual", 0, "m"), ...skipped])?.count, 4);
  assertEquals(heldRuns("h1", [...skipped.slice(2), record("enqueued", 5)]), undefined);
  // A run that waits, and is replaced by the next one, is one run.
  assertEquals(
    heldRuns("h1", [...skipped, ...skipped.map((one) => ({ ...one, outcome: "waiting" as const }))])?.count,
    4,
  );

  const schedule = { everyMs: 60_000, anchor: 0 } as const;
  const entry = {
    name: "sync stock",
    definition: { name: "sync stock", class: "Hang", args: [], schedule } as never,
    state: { schedule, considered: NOW } as never,
    next: undefined,
    live: "h1",
    isLoaded: true,
    last: skipped[0],
  };
  assertEquals(heldEntries([entry, { ...entry, live: undefined }, { ...entry, live: "h2" }], NOW), [entry]);
  const held = new Map([["sync stock", { jid: "h1", count: 4, since: NOW - 240_000 }]]);
  const title =
    "The last 4 runs of cron entry \"sync stock\" weren't enqueued, for 4m: job h1 of an earlier run hasn't ended";
  assertEquals(words(alerts({ cron: [entry], cronHeld: held })), [
    [title, "jobs show h1 shows why; jobs cancel h1 ends it.", "jobs show h1"],
  ]);
  const job = { task: "processor-1", queue: "default", payload: '{"class":"Hang","jid":"h1"}', since: NOW - 300_000 };
  assertEquals(words(alerts({ cron: [entry], cronHeld: held, workers: [{ ...WORKER, work: [job] }] })), [
    [title, "Hang h1 has run for 5m on web1:7:a; jobs show h1 shows more.", "jobs cancel h1"],
  ]);
  const deaf = { ...job, abortReason: "Cancelled" };
  const [alert, ...others] = alerts({ cron: [entry], cronHeld: held, workers: [{ ...WORKER, work: [deaf] }] });
  assertEquals([alert!.command, alert!.detail?.endsWith(`${title}.`), others], ["jobs stop web1:7:a", true, []]);
});

Deno.test("reports classes whose jobs crashed their workers within the last hour", () => {
  const crash = (name: string, minutes: number) => ({ class: name, jid: "j", ref: "r", at: NOW - minutes * 60_000 });
  const found = alerts({ crashes: [crash("Thumbnail", 2), crash("Thumbnail", 5), crash("Old", 61)] });
  assertEquals(summary(found), [
    ["bad", "Thumbnail crashes its workers: 2 jobs moved to dead", ["Show job → /jobs/j", "Show dead jobs → /dead"]],
  ]);
});

const words = (all: ReturnType<typeof alerts>) => all.map(({ title, detail, command }) => [title, detail, command]);

Deno.test("states since when a queue is paused, and its workers are quiet, and quotes names in commands", () => {
  const queues = [{ ...QUEUE, name: "a 'b", size: 1, latencyMs: 300_000, paused: true }];
  const pauses = new Map([["a 'b", { at: NOW - 3_600_000, user: "ann" }]]);
  assertEquals(words(alerts({ stats: { ...STATS, queues }, pauses })), [[
    `Queue "a 'b" is paused, for 1h now, by ann (1 job waiting, for 5m)`,
    undefined,
    "jobs resume 'a '\\''b'",
  ]]);
  const quiet = { ...WORKER, quiet: true, quietSince: NOW - 60_000 };
  assertEquals(words(alerts({ workers: [quiet] })), [[
    "All workers are quiet for 1m: no job is fetched",
    undefined,
    "jobs resume --all-workers",
  ]]);
  const stats = { ...STATS, queues: [QUEUE] };
  assertEquals(words(alerts({ stats, workers: [quiet, { ...WORKER, id: "web2:8:b", queues: ["low"] }] })), [[
    'All workers of queue "default" are quiet for 1m (12 jobs waiting)',
    undefined,
    "jobs resume --worker web1:7:a",
  ]]);
});

Deno.test("names the job that a queue waits for: the longest of busy processors, and of a limit", () => {
  const work = [{
    task: "processor-1",
    queue: "default",
    payload: '{"class":"Hang","jid":"h1"}',
    since: NOW - 90_000,
  }];
  const busy = { ...WORKER, concurrency: 1, busy: 1, work };
  const behind = { ...QUEUE, latencyMs: 80_000 };
  const longest = "The longest: Hang h1 has run for 1m30s on web1:7:a. " +
    "The dump shows what it does, and jobs cancel h1 ends it; a timeout for the class ends such jobs.";
  assertEquals(words(alerts({ stats: { ...STATS, queues: [behind] }, workers: [busy] })), [[
    'Queue "default": its running job has not ended for 1m30s',
    `Queue "default" is 1m20s behind (12 jobs waiting). ${longest} ` +
    "No processor of web1:7:a has become free for 1m30s, and jobs wait.",
    "jobs dump web1:7:a",
  ]]);
  // That is usual for the class.
  const usual = { ...measured("Hang", 100, 0), histogram: new Array(26).fill(0).with(20, 100) };
  assertEquals(words(alerts({ stats: { ...STATS, queues: [behind] }, workers: [busy], metrics: [usual] })), [[
    'Queue "default" is 1m20s behind (12 jobs waiting)',
    `All processors are busy. ${longest}`,
    "jobs dump web1:7:a",
  ]]);
  const limit = { running: 1, taken: 1, started: 0, freeInMs: undefined };
  assertEquals(words(alerts({ stats: { ...STATS, queues: [{ ...behind, limit }] }, workers: [busy] })), [[
    'Queue "default" is 1m20s behind (12 jobs waiting)',
    "It is at its limit: 1 of 1 running. The longest: Hang h1 has run for 1m30s on web1:7:a.",
    "jobs limit default --running 2",
  ]]);
  // It may have ended since the heartbeat.
  const short = { ...busy, work: [{ ...work[0]!, since: NOW - 9_999 }] };
  assertEquals(
    alerts({ stats: { ...STATS, queues: [{ ...behind, limit }] }, workers: [short] })[0]!.detail,
    "It is at its limit: 1 of 1 running.",
  );
  assertEquals(words(alerts({ stats: { ...STATS, queues: [behind] }, workers: [short] }))[0]!.slice(1), [
    "Its workers take jobs, but have not caught up. All processors are busy, none of them for long. Add workers, or raise " +
    "their concurrency.",
    "jobs workers",
  ]);
  const raise = (more: object) => {
    const queues = [{ ...behind, limit: { taken: 0, started: 0, freeInMs: undefined, ...more } }];
    return alerts({ stats: { ...STATS, queues }, workers: [busy] })[0]!.command;
  };
  const starts = { count: 100, perMs: 60_000 };
  assertEquals(raise({ starts, started: 100, freeInMs: 1 }), "jobs limit default --starts 200/1m");
  assertEquals(raise({ starts, started: 100, running: 5, taken: 4 }), "jobs limit default --starts 200/1m");
  assertEquals(raise({ starts, started: 9, running: 5, taken: 5 }), "jobs limit default --running 10");
  const moment = { ...STATS, queues: [{ ...QUEUE, latencyMs: 29_000 }] };
  assertEquals(alerts({ stats: moment, workers: [{ ...busy, work: [{ ...work[0]!, since: NOW - 9_000 }] }] }), []);
});

Deno.test("reports a slow store, and heartbeats that are late", () => {
  assertEquals(alerts({ roundTripMs: 999, workers: [{ ...WORKER, heartbeatAt: NOW - 9_999 }] }), []);
  const { heartbeatMs: _, ...foreign } = WORKER;
  const seldom = { ...WORKER, heartbeatMs: 15_000, heartbeatAt: NOW - 29_000 };
  assertEquals(alerts({ workers: [{ ...foreign, heartbeatAt: NOW - 19_000 }, seldom] }), []);
  const found = alerts({ roundTripMs: 1_500, workers: [{ ...WORKER, heartbeatAt: NOW - 12_000 }] });
  assertEquals(found.map(({ title, command }) => [title, command]), [
    ["The store took 1.5s to return its counts", "jobs doctor"],
    ["The heartbeat of a worker is late: it is known as of 12s ago", "jobs doctor"],
  ]);
  const [slow] = alerts({ roundTripMs: 1_500, engine: "redis" });
  assertEquals(slow!.command, "redis-cli slowlog get 10");
  assert(slow!.detail!.endsWith("An empty slow log means that the network is slow."), slow!.detail);
});

Deno.test("reports a worker whose clock differs from the store's", () => {
  const at = (clockAt: number, more: Partial<WorkerInfo> = {}) => ({ ...WORKER, clockAt, ...more });
  assertEquals(alerts({ workers: [at(NOW - 29_999), at(NOW + 29_999), WORKER] }), []);
  assertEquals(alerts({ workers: [at(NOW - 720_000, { alive: false })] }).map(({ title }) => title), [
    "1 worker is offline",
  ]);
  const blocked = { since: NOW - 700_000 };
  assertEquals(alerts({ workers: [at(NOW - 720_000, { blocked })] }).length, 1, "it describes itself as of before");
  const [alert, ...others] = alerts({ workers: [at(NOW - 720_200)] });
  assertEquals([alert!.title, alert!.command, others], [
    "The clock of a worker is 12m behind the store's",
    "timedatectl status",
    [],
  ]);
  assertEquals(
    alerts({ workers: [at(NOW - 720_000), at(NOW + 60_000, { id: "b" })] })[0]!.title,
    "The clocks of 2 workers differ from the store's, by up to 12m",
  );
});

Deno.test("names the gateway of programs whose heartbeats are late", () => {
  const late = { ...WORKER, heartbeatAt: NOW - 15_000 };
  const program = { ...late, program: true as const };
  const detail = (...workers: WorkerInfo[]) => alerts({ workers })[0]!.detail!;
  assert(detail(program).includes("its process (jobs web) has ended"), detail(program));
  assert(detail(program, { ...late, id: "b" }).includes("The store is slow or locked"));
});

Deno.test("reports workers whose processes on this machine have ended or are stopped, before their heartbeats do", () => {
  const late = { ...WORKER, heartbeatAt: NOW - 12_000 };
  const words = (state: "ended" | "stopped", ...workers: (typeof WORKER)[]) =>
    alerts({ workers, processes: new Map(workers.map(({ id }) => [id, state])) })
      .map(({ title, detail, command }) => [title, detail, command]);
  const [named, rest] = [
    `${WORKER.hostname}:${WORKER.pid} (last heartbeat 12s ago)`,
    "Running jobs are rescued by an online worker once the heartbeat has lapsed.",
  ];
  assertEquals(words("ended", late), [[
    "The process of a worker has ended without a stop",
    `${named}. The cause is kill -9, a lack of memory, or a crash: the log and journalctl -k show which. ${rest}`,
    "jobs run handlers.js",
  ]]);
  assertEquals(words("stopped", late, { ...late, id: "b", pid: 8 }), [[
    "The processes of 2 workers are stopped by a signal",
    `${named}, ${WORKER.hostname}:8 (last heartbeat 12s ago). ${rest}`,
    `kill -CONT ${WORKER.pid} 8`,
  ]]);
  const offline = alerts({ workers: [{ ...late, alive: false }], processes: new Map([[WORKER.id, "ended"]]) });
  assertEquals(offline.map(({ detail }) => detail), [
    `${WORKER.hostname}:${WORKER.pid} (last heartbeat 12s ago, its process has ended). ` +
    "Their running jobs are rescued by an online worker within seconds.",
  ]);
});

Deno.test("an open circuit explains the failures of its classes, and nothing else", () => {
  const circuit = {
    host: "app:1",
    state: "open",
    failures: 7,
    since: NOW - 60_000,
    error: "connect ECONNREFUSED",
  } as const;
  const metrics = [measured("Call", 100, 90), measured("Mail", 300, 0)];
  const titles = (classes: string[], more: Partial<Situation> = {}) =>
    alerts({ metrics, workers: [{ ...WORKER, circuits: [{ ...circuit, classes }] }], ...more }).map(({ title }) =>
      title
    );
  const open = "The circuit of app:1 is open for 1m: its jobs wait";
  assertEquals(titles(["Call"]), [open]);
  assertEquals(titles(["Other"]), [open, "23 % of attempts failed in the last 15 minutes"]);
  assertEquals(titles(["Call"], { metrics: [...metrics, measured("Boom", 50, 50)] }), [
    open,
    "14 % of attempts failed in the last 15 minutes",
  ]);
  // The first minute of both.
  assertEquals(titles(["Call"], { metrics: [], today: { processed: 100, failed: 90 } }), [open]);
});

Deno.test("a queue without a worker explains that its classes have no handler", () => {
  const stats = { ...STATS, enqueued: 12, queues: [{ ...QUEUE, name: "low" }] };
  const unhandled = [{ class: "Gone", queue: "low" }, { class: "Lost", queue: "low", isKnown: false }];
  const missing = 'No worker of queue "low" has a handler for Gone. ' +
    'No worker of queue "low" has a handler for Lost, and none has ever had one.';
  assertEquals(words(alerts({ stats, unhandled })), [
    ['Queue "low" has no worker (12 jobs waiting)', missing, "jobs run handlers.js -q low"],
  ]);
  const [none, ...others] = alerts({ stats, unhandled, workers: [] });
  assertEquals([none!.title, others], ["No worker is running: 12 jobs wait", []]);
  assert(none!.detail!.endsWith(missing), none!.detail);
});

Deno.test("names all queues of a worker that ended in the command that replaces it", () => {
  const queues = Array.from({ length: 9 }, (_, i) => `q${i}`);
  const command = `jobs run handlers.js ${queues.map((name) => `-q ${name}`).join(" ")}`;
  const worker = { ...WORKER, queues };
  const stats = { ...STATS, enqueued: 9, queues: queues.map((name) => ({ ...QUEUE, name, size: 1 })) };
  const commands = (more: Partial<Situation>) => alerts(more).map((one) => one.command);
  assertEquals(commands({ workers: [worker], processes: new Map([[worker.id, "ended"]]) }), [command]);
  assertEquals(commands({ workers: [{ ...worker, alive: false }] }), [command]);
  assertEquals(commands({ workers: [], stats })[0], command);
});

Deno.test("reports batches and flows that wait for dead members, each with the command that retries them", () => {
  const batch = {
    ...{
      id: "b1",
      name: "mails",
      tags: [],
      state: "stuck" as const,
      createdAt: 0,
      completedAt: NOW - 720_000,
      total: 10_000,
    },
    ...{ pending: 0, dead: 47, succeeded: 9_953, failed: 0, cancelled: 0, expired: 0, deleted: 0, callbacks: [] },
    version: 1,
  } as const;
  const { name: _, ...unnamed } = batch;
  const flow = { ...unnamed, id: "f1", flow: true as const, total: 6, dead: 1, pending: 3, waiting: 3 } as const;
  assertEquals(words(alerts({ stuck: [batch, flow] })), [
    [
      'Batch "mails" (b1) waits for 47 dead jobs, for 12m',
      "47 of 10,000 jobs are dead, the others have ended: retry or delete the dead ones.",
      "jobs batch retry b1",
    ],
    [
      "Flow f1 waits for 1 dead node, for 12m",
      "1 of 6 nodes is dead, and 3 wait for others: retry or delete the dead ones.",
      "jobs flow retry f1",
    ],
  ]);
  assertEquals(
    words(alerts({ stuck: [1, 2, 3, 4, 5, 6].map((n) => ({ ...batch, name: `mails${n}` })) })).at(-1)![0],
    "2 more batches and flows wait for dead jobs",
  );
  // The flows of one name have one cause.
  const orders = ["f3", "f2", "f1"].map((id, i) => ({
    ...flow,
    id,
    name: "order",
    completedAt: NOW - 60_000 * (i + 1),
  }));
  assertEquals(words(alerts({ stuck: [...orders, batch] })).map(([title, , command]) => [title, command]), [
    ['3 flows "order" wait for 3 dead nodes, for 3m', "jobs flow retry f3 && jobs flow retry f2 && jobs flow retry f1"],
    ['Batch "mails" (b1) waits for 47 dead jobs, for 12m', "jobs batch retry b1"],
  ]);
});

Deno.test("states since when most attempts of a class fail", () => {
  const storm = measured("Boom", 300, 300);
  const series = new Array(60).fill(0).fill(20, -15);
  const found = alerts({ metrics: [{ ...storm, series: [...series], failedSeries: [...series].fill(0, 0, 48) }] });
  assertEquals(words(found), [[
    "80 % of attempts failed in the last 15 minutes",
    "240 of 300 attempts, most of class Boom (240), for 12m.",
    "jobs errors --class Boom",
  ]]);
  const quiet = (counts: readonly number[]) => counts.with(0, 0).fill(0, -8);
  const [over] = alerts({
    metrics: [{ ...storm, series: quiet(series), failedSeries: quiet([...series].fill(0, 0, 48)) }],
  });
  assertEquals(over!.detail, "80 of 140 attempts, most of class Boom (80), for 12m, the last 9m ago.");
});

Deno.test("reports jobs that run for far longer than usual at once, also while no job waits", () => {
  const histogram = new Array(RUN_BOUNDS_MS.length + 1).fill(0);
  const metrics = [{ ...measured("Mail", 100, 0), histogram: histogram.with(8, 100) }]; // 0.335 to 0.5 s
  const running = (since: number, name = "Mail") => ({
    task: "processor-1",
    queue: "default",
    payload: JSON.stringify({ class: name, jid: `j${since}` }),
    since: NOW - since,
  });
  const titles = (work: readonly RunningJobRecord[], more: Partial<Situation> = {}) =>
    alerts({ metrics, workers: [{ ...WORKER, work, busy: work.length }], ...more }).map(({ title }) => title);
  assertEquals(titles([running(9_999)]), []);
  assertEquals(titles([running(10_000)]), ["A job of class Mail runs for far longer than usual"]);
  assertEquals(titles([running(12_000), running(11_000), running(100)]), [
    "2 jobs of class Mail run for far longer than usual",
  ]);
  const slow = [{ ...metrics[0]!, histogram: histogram.with(17, 100) }]; // 13 to 20 s
  assertEquals(titles([running(60_000)], { metrics: slow }), []);
  assertEquals(titles([running(200_000)], { metrics: slow }).length, 1);

  // Without a usual duration: each processor is occupied, and jobs wait.
  const waiting = { stats: { ...STATS, enqueued: 12, queues: [QUEUE] }, metrics: [] };
  const work = [10_000, 11_000, 12_000, 13_000, 14_000].map((since) => running(since));
  assertEquals(titles(work, { metrics: [] }), []);
  assertEquals(titles(work.with(0, running(9_999)), waiting), []);
  assertEquals(titles(work, waiting), [`No processor of ${WORKER.id} has become free for 10s, and jobs wait`]);
  const [alert] = alerts({ ...waiting, workers: [{ ...WORKER, work, busy: 5 }] });
  assertEquals(alert!.command, `jobs dump ${WORKER.id}`);
  assertEquals(alert!.detail?.startsWith("The longest: Mail j14000 has run for 14s on"), true);
  const behind = { ...waiting, stats: { ...waiting.stats, queues: [{ ...QUEUE, latencyMs: 30_000 }] } };
  assertEquals(
    titles(work, behind),
    ['Queue "default": its 5 running jobs have not ended for 10s'],
    "one alert is enough",
  );
});

/** Jobs that run, one for each age. */
function jobsOf(name: string, queue: string, agesMs: readonly number[]): RunningJobRecord[] {
  return agesMs.map((ageMs, i) => ({
    task: `processor-${i + 1}`,
    queue,
    payload: JSON.stringify({ class: name, jid: `${name}${ageMs}` }),
    since: NOW - ageMs,
  }));
}

Deno.test("explains a queue by its hung jobs, whatever the queue's other workers do at that moment", () => {
  const work = jobsOf("Hang", "hang", [284_000, 285_000, 286_000, 287_000, 288_000]);
  const queues = ["hang", "mail"];
  const hung = { ...WORKER, queues, busy: 5, work };
  const stats = { ...STATS, queues: queues.map((name) => ({ ...QUEUE, name, latencyMs: 300_000 })) };
  const found = (other: Partial<WorkerInfo>) =>
    words(alerts({ stats, workers: [hung, { ...WORKER, id: "web2:7:b", queues: ["mail"], ...other }] }));
  for (
    const other of [
      { busy: 0 },
      { busy: 5, work: jobsOf("Mail", "mail", [1, 2, 3, 4, 5]) },
      { busy: 1, work: jobsOf("Mail", "mail", [1]) },
    ]
  ) {
    const [[title, detail, command]] = found(other) as [string[]];
    assertEquals([title, command], ['Queue "hang": its 5 running jobs have not ended for 4m44s', "jobs dump web1:7:a"]);
    assert(
      detail!.includes('Queue "hang" is 5m behind (12 jobs waiting). The longest: Hang Hang288000 has run'),
      detail,
    );
    assertEquals(JSON.stringify(found(other)).includes("arrive faster"), false);
  }
  // The processors of its workers are held by jobs of the other queue.
  const [[, detail], ...others] = found({ busy: 0 }) as [string[]];
  assertEquals(others, []);
  assert(detail!.includes('Queue "mail" is 5m behind'), detail);

  // One that started lately doesn't hide the others, most of which have ended.
  const own = (agesMs: number[]) =>
    alerts({ stats, workers: [{ ...hung, concurrency: 10, work: jobsOf("Hang", "hang", agesMs) }] })[0]!.title;
  assertEquals(own([284_000, 285_000, 5]), 'Queue "hang": 2 of its 3 running jobs have not ended for 4m44s');
  assertEquals(own([284_000, 5, 6]), 'Queue "hang" is 5m behind (12 jobs waiting)');
});

Deno.test("doesn't advise a higher limit for jobs that haven't ended for minutes", () => {
  const limit = { running: 2, taken: 2, started: 0, freeInMs: undefined };
  const title = (ageMs: number) =>
    alerts({
      stats: { ...STATS, queues: [{ ...QUEUE, latencyMs: 400_000, limit }] },
      workers: [{ ...WORKER, busy: 2, work: jobsOf("Hang", "default", [ageMs, 400_000]) }],
    }).map(({ title, command }) => [title, command]);
  assertEquals(title(299_999), [[
    'Queue "default" is 6m40s behind (12 jobs waiting)',
    "jobs limit default --running 4",
  ]]);
  assertEquals(title(300_000), [['Queue "default": its 2 running jobs have not ended for 5m', "jobs dump web1:7:a"]]);
});

Deno.test("reports workers that have ended nothing for five minutes, also while no job waits", () => {
  const workers = (ageMs: number) =>
    ["web1:7:a", "web2:7:b"].map((id) => ({
      ...WORKER,
      id,
      concurrency: 4,
      busy: 4,
      work: jobsOf("Hang", "default", [ageMs, 420_000, 420_000, 420_000]),
    }));
  assertEquals(alerts({ workers: workers(299_999) }), []);
  const [[title, detail, command], ...others] = words(alerts({ workers: workers(300_000) })) as [string[]];
  assertEquals([title, command, others], ["No processor of web1:7:a has become free for 5m", "jobs dump web1:7:a", []]);
  assert(detail!.endsWith("No processor of web2:7:b has become free for 5m."), detail);
});

Deno.test("states how fast jobs come and leave, and the group that floods a queue", () => {
  const behind = { ...QUEUE, size: 1_830, latencyMs: 39_400 };
  const found = (backlog: Backlog) =>
    words(alerts({
      stats: { ...STATS, queues: [behind] },
      workers: [WORKER],
      backlogs: new Map([["default", backlog]]),
    }))[0]!.slice(1);
  const rates = (arriving: number, leaving: number) => ({ rates: { in: arriving, out: leaving, overMs: 30_100 } });
  assertEquals(found(rates(40, 12)), [
    "Jobs arrive faster than its workers process them in the last 30s: in 40/s, out 12/s.",
    "jobs workers",
  ]);
  assertEquals(found(rates(0.05, 1.25))[0], "Its workers catch up in the last 30s: in 3/min, out 1.3/s.");
  assertEquals(found(rates(3, 0))[0], "No job has left it in the last 30s: in 3/s, out 0/s.");
  const group = {
    ...{ name: "acme", size: 1_825, latencyMs: 39_400, running: 5, weight: 1, isOwn: false, paused: false },
  };
  assertEquals(found({ flood: { group, othersWaitMs: 400 } }), [
    "1,825 of 1,830 are of group acme; the others wait 400ms. A limit of the group keeps processors free for the others.",
    "jobs limit default --group acme --running 2",
  ]);
});
