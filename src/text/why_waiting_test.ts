import { assertEquals } from "@std/assert";
import type { Step } from "../job/step.ts";
import type { ProcessState } from "../processes.ts";
import type { Entry } from "../store/port/entries.ts";
import { whyHeld, whyNotRunning } from "./why_waiting.ts";

const NOW = Date.UTC(2026, 10, 23, 8);
const DAY_MS = 86_400_000;
const ASLEEP: Entry = {
  ref: "s1",
  place: { in: "scheduled" },
  at: NOW + DAY_MS,
  payload: '{"class":"Order","args":[],"jid":"o1"}',
};

/** Returns why the job waits, with a worker of its queue online. */
function why(...waitingSteps: readonly Omit<Step, "since">[]): readonly string[] {
  const worker = {
    id: "w:1:a",
    alive: true,
    quiet: false,
    busy: 0,
    concurrency: 1,
    queues: ["default"],
    classes: ["Order"],
  };
  const steps = waitingSteps.map((step) => ({ since: NOW, ...step }));
  return whyNotRunning(ASLEEP, { workers: [worker], queues: [], now: NOW, waitingSteps: steps });
}

Deno.test("a job that waits or runs names the job that holds it up, since when, and the remedy", () => {
  const worker = { id: "w:1:a", alive: true, quiet: false, busy: 1, concurrency: 1, queues: ["default"] };
  const payload = '{"class":"Spin","args":[],"jid":"s1"}';
  const work = (since: number, abortReason?: string) => [{
    ...{ task: "processor-1", queue: "default", payload, since },
    ...(abortReason !== undefined && { abortReason }),
  }];
  const blocked = { since: NOW - 180_000, task: "processor-1", class: "Spin", jid: "s1" };
  const queued: Entry = { ref: "q1", place: { in: "queue", queue: "default" }, payload: '{"class":"A","jid":"a1"}' };
  const running: Entry = { ref: "l1", place: { in: "running" }, worker: "w:1:a", payload };
  const reasons = (entry: Entry, ...workers: Parameters<typeof whyNotRunning>[1]["workers"][number][]) =>
    whyNotRunning(entry, { workers, queues: [], now: NOW });
  const rest = "isolate: true keeps the class from blocking others; jobs web in a process apart replies meanwhile).";
  const spins = "Spin s1 blocks the event loop of w:1:a, for 3m: jobs cancel s1 && jobs stop w:1:a (the stop ends it " +
    `at the shutdown timeout; without the cancel the job returns to its queue and blocks again; ${rest}`;
  assertEquals(reasons(queued, { ...worker, blocked, work: work(NOW) }), [spins]);
  assertEquals(reasons(running, { ...worker, blocked, work: work(NOW) }), [spins]);
  const unnamed = { ...worker, blocked: { since: NOW - 2_000 } };
  assertEquals(reasons(running, unnamed), [
    `One of its running jobs blocks the event loop of w:1:a, for 2s: jobs stop w:1:a (the stop ends it at the shutdown timeout and returns its jobs; ${rest}`,
  ]);
  assertEquals(reasons(queued, { ...worker, work: work(NOW - 9_000) }), ["All processors of its queue are busy."]);
  assertEquals(reasons(queued, { ...worker, work: work(NOW - 70_000) }), [
    "All processors of its queue are busy. The longest: Spin s1 has run for 1m10s on w:1:a; " +
    "jobs dump w:1:a (the dump shows what it does, and jobs cancel s1 ends it; a timeout for the class ends such jobs).",
  ]);
  assertEquals(reasons(running, { ...worker, work: work(NOW - 70_000) }), []);
  assertEquals(reasons(running, { ...worker, work: work(NOW - 70_000, "Cancelled") }), [
    "Spin s1 on w:1:a ignores its signal (Cancelled) and has run for 1m10s: " +
    "jobs stop w:1:a (a stop of its worker ends it; pass ctx.signal on in the handler, or set isolate: true, " +
    "so that it can be killed).",
  ]);
  assertEquals(reasons(running, { ...worker, alive: false }), ["Its worker is offline: another one rescues it."]);
});

Deno.test("a job that was cancelled ends at the next rescue once its worker is gone", () => {
  const worker = { id: "w:1:a", alive: true, quiet: false, busy: 1, concurrency: 1, queues: ["default"] };
  const payload = '{"class":"Spin","args":[],"jid":"s1"}';
  const running: Entry = { ref: "l1", place: { in: "running" }, worker: "w:1:a", payload };
  const reasons = (entry: Entry, alive: boolean, process?: ProcessState) =>
    whyNotRunning(entry, {
      workers: [{ ...worker, alive }],
      queues: [],
      now: NOW,
      processes: new Map(process && [["w:1:a", process]]),
    });
  const cancelled: Entry = { ...running, cancelled: true };
  assertEquals(reasons(cancelled, true), []);
  assertEquals(reasons(cancelled, false), [
    "It was cancelled, and its worker is offline: the next rescue by another one ends it.",
  ]);
  assertEquals(reasons(running, true, "ended"), [
    "The process of its worker has ended without a stop: another worker rescues the job once the heartbeat has lapsed.",
  ]);
  assertEquals(reasons(cancelled, true, "ended"), [
    "It was cancelled, and the process of its worker has ended without a stop: it ends once the heartbeat has lapsed.",
  ]);
  assertEquals(reasons({ ...cancelled, worker: "cancelled" }, true), [
    "It was cancelled, and no worker has it: the next rescue by a worker ends it.",
  ]);
});

Deno.test("states how old the latest heartbeat is of the workers that may fetch a job", () => {
  const queued: Entry = { ref: "q1", place: { in: "queue", queue: "default" }, payload: '{"class":"A","jid":"a1"}' };
  const beat = (ageMs: number, queue = "default") => ({
    ...{ id: "w:1:a", alive: true, quiet: false, busy: 0, concurrency: 1, queues: [queue] },
    heartbeatAt: NOW - ageMs,
  });
  const reasons = (...workers: ReturnType<typeof beat>[]) => whyNotRunning(queued, { workers, queues: [], now: NOW });
  const free = "Nothing blocks it: a worker fetches it in its turn";
  assertEquals(reasons(beat(4_000), beat(9_000), beat(100, "low")), [`${free}, as of 4s ago.`]);
  assertEquals(reasons(beat(1_999)), [`${free}.`]);
});

Deno.test("a scheduled job waits for its time", () => {
  assertEquals(why(), ["It is due in 1d."]);
});

Deno.test("a job that waits for its child says of which class that is, and what keeps it from running", () => {
  const worker = { id: "w:1:a", alive: true, quiet: false, busy: 0, concurrency: 1, classes: ["Order"] };
  const waitingSteps = ["c1", "c2", "c3", "c4"].map((child): Step => ({
    ...{ name: child, kind: "child", state: "waiting", since: NOW, until: NOW + DAY_MS, child },
  }));
  const children = [
    { jid: "c1", class: "Invoice", queue: "default" },
    { jid: "c2", class: "Order", queue: "default" },
    { jid: "c3", class: "Invoice", queue: "invoices" },
  ];
  const workers = [{ ...worker, queues: ["default"] }];
  const until = "until 2026-11-24 08:00 UTC, in 1d, at most.";
  assertEquals(whyNotRunning(ASLEEP, { workers, queues: [], now: NOW, waitingSteps, children }), [
    `Step "c1" waits for job c1 of class Invoice, ${until}`,
    'Job c1: No worker of queue "default" has a handler for Invoice: it waits for one. w:1:a takes its jobs and lacks it. Start one with jobs run handlers.js -q default.',
    `Step "c2" waits for job c2 of class Order, ${until}`,
    `Step "c3" waits for job c3 of class Invoice, ${until}`,
    'Job c3: No worker fetches from queue "invoices": start one with jobs run handlers.js -q invoices.',
    // It runs, or has just ended.
    `Step "c4" waits for job c4, ${until}`,
  ]);
});

Deno.test("a job with steps says which step sleeps, and what each wait is for", () => {
  const waiting = { state: "waiting", until: NOW + DAY_MS } as const;
  assertEquals(
    why(
      { ...waiting, name: "cooling off", kind: "sleep" },
      { ...waiting, name: "approval", kind: "wait", key: "order:42" },
      { ...waiting, name: "size", kind: "wait", key: "a b", example: "42" },
      { ...waiting, name: "invoice", kind: "child", child: "c1" },
    ),
    [
      'Step "cooling off" sleeps until 2026-11-24 08:00 UTC, in 1d. jobs steps wake o1 ends the sleep.',
      'Step "approval" waits for signal "order:42", until 2026-11-24 08:00 UTC, in 1d, at most. ' +
      `jobs signal order:42 '{"approved": true}' sends it, with the data that its handler expects.`,
      'Step "size" waits for signal "a b", until 2026-11-24 08:00 UTC, in 1d, at most. ' +
      "jobs signal 'a b' 42 sends it.",
      'Step "invoice" waits for job c1, until 2026-11-24 08:00 UTC, in 1d, at most.',
    ],
  );
});

Deno.test("a job whose steps' time has passed is only due", () => {
  assertEquals(why({ name: "nap", kind: "sleep", state: "waiting", until: NOW }), ["It is due in 1d."]);
});

/** A failure as a worker writes it. */
const ONE = { at: 1_700_000_000.5, error_class: "TypeError", error_message: "m" };

Deno.test("a notice of a webhook that no worker has any more names the webhook, and no handler", () => {
  const payload = JSON.stringify({ class: "webhook:old", args: [], jid: "n1", queue: "webhooks" });
  const entry = { ref: "n1", place: { in: "queue", queue: "webhooks" }, payload } as const;
  const worker = { id: "w:1:a", alive: true, quiet: false, busy: 0, concurrency: 1, classes: ["webhook:new"] };
  for (const queues of [["webhooks"], ["default"]]) {
    const workers = [{ ...worker, queues }];
    const [reason] = whyNotRunning(entry, { workers, queues: [], now: NOW });
    assertEquals(
      reason,
      'No online worker has the webhook "old" in its configuration: it was renamed or removed, or its workers have stopped. ' +
        "Add it to webhooks and start a worker, or delete its notices: jobs delete --all queued -q webhooks --class webhook:old.",
    );
  }
});

Deno.test("a dead job names the command that helps: a retry repeats no step that failed for good", () => {
  const why = (fields: object) => {
    const payload = JSON.stringify({ class: "Order", args: [], jid: "o1", ...fields });
    return whyNotRunning({ ref: "d1", place: { in: "dead" }, payload }, { workers: [], queues: [], now: NOW });
  };
  assertEquals(why({}), ["It is dead: it was killed. jobs retry o1 runs it again."]);
  assertEquals(why({ error_class: "TypeError" }), [
    "It is dead: its retries are exhausted. jobs retry o1 runs it again.",
  ]);
  const dead = { error_class: "TypeError" };
  const reasons: [object, string][] = [
    [{ ...dead, retry: 5, retry_count: 5 }, "its retries are exhausted"],
    [{ ...dead, retry: 0, retry_count: 0 }, "its retries are exhausted"],
    [{ ...dead, retry: true, retry_count: 25 }, "its retries are exhausted"],
    [{ ...dead, retry: 5, retry_count: 4 }, "it was killed before its retries were exhausted"],
    [{ ...dead, retry: true, retry_count: 2 }, "it was killed, or its worker has a lower maxRetries than 25"],
    [{ ...dead, retry: true, retry_count: 2, retry_for: 60 }, "its retries are exhausted"],
    [{ error_class: "Kill", retry: true, retry_count: 0 }, "its handler ended it for good"],
    [{ ...dead, died_by: "retries:0" }, "it has no retries"],
    [{ ...dead, died_by: "retries:1", retry_count: 1 }, "its retry is used up"],
    [{ ...dead, died_by: "retries:3", retry_count: 3 }, "its 3 retries are exhausted"],
    [{ ...dead, died_by: "retry_for", retry_count: 1 }, "the time of its retry_for has passed"],
    [{ ...dead, died_by: "retryIn", retry_count: 0 }, "the retryIn of its class ended it"],
    [{ ...dead, died_by: "handler" }, "its handler ended it for good"],
    [{ ...dead, error_class: "Kill", died_by: "retries:0" }, "it has no retries"],
    [{ ...dead, died_by: "payload", error_message: "Too deep" }, "no worker can perform it: Too deep"],
    [{ ...dead, died_by: "retries:0", enqueued_at: 1.5 }, "it was killed"],
    [{ ...dead, retry: true, retry_count: 1, errors: [ONE] }, "it was killed before its retries were exhausted"],
  ];
  assertEquals(
    whyNotRunning({ ref: "d1", place: { in: "dead" }, payload: "{" }, { workers: [], queues: [], now: NOW }),
    ["It is dead: its payload can't be read. jobs retry JID runs it again."],
  );
  for (const [fields, reason] of reasons) {
    assertEquals(why(fields), [`It is dead: ${reason}. jobs retry o1 runs it again.`]);
  }
  for (const failure of ["StepFailed", "ChildFailed"]) {
    assertEquals(why({ error_class: failure }), [
      "It is dead: one of its steps failed for good. jobs steps rerun o1 NAME runs it again from that step; jobs steps o1 lists them.",
    ]);
  }
});

Deno.test("a queued job says that its group, its queue or all queues are paused, and until when", () => {
  const entry: Entry = { ref: "q1", place: { in: "queue", queue: "mail", group: "acme" }, payload: ASLEEP.payload };
  const paused = (name: string, forMs?: number) => ({
    name,
    paused: true,
    ...(forMs !== undefined && { pausedForMs: forMs }),
  });
  const group = (more: object) => ({ ...{ name: "acme", size: 1, running: 0, latencyMs: 0, paused: false }, ...more });
  const said = (around: object) => {
    const all = { workers: [], queues: [], now: NOW, ...around } as Parameters<typeof whyHeld>[1];
    return [whyHeld(entry, all), whyNotRunning(entry, all).filter((reason) => !reason.startsWith("No worker"))];
  };
  const end = "until 2026-11-24 08:00 UTC, in 1d";
  assertEquals(said({}), [undefined, []]);
  assertEquals(said({ group: group({}) }), [undefined, []]);
  assertEquals(said({ group: group({ paused: true, pausedForMs: DAY_MS }) }), [
    `group "acme" is paused ${end}`,
    [`Group "acme" is paused ${end}. jobs resume mail --group acme resumes it.`],
  ]);
  assertEquals(said({ queues: [paused("*", DAY_MS)] }), [`all queues are paused ${end}`, [
    `All queues are paused ${end}. jobs resume resumes them.`,
  ]]);
  assertEquals(said({ queues: [paused("mail")], group: group({ paused: true }) }), [
    'group "acme" is paused until it is resumed',
    [
      'Queue "mail" is paused until it is resumed. jobs resume mail resumes it.',
      'Group "acme" is paused until it is resumed. jobs resume mail --group acme resumes it.',
    ],
  ]);
  const limit = { running: 2, taken: 2, started: 0, freeInMs: undefined };
  const own = group({ limit, isOwn: true, paused: false });
  const groupSet = { at: NOW - 60_000, user: "ann", details: "2 at once, weight 3" };
  const atLimit = 'Group "acme" is at its limit: 2 of 2 running';
  assertEquals(said({ group: own, groupSet })[1], [
    `${atLimit}, set 1m ago by ann. jobs limit mail --group acme --running 4 raises it.`,
  ]);
  const changed = { ...groupSet, details: "5 at once" };
  for (const shared of [{ ...own, isOwn: false }, { ...own, sharesLimit: true }]) {
    assertEquals(said({ group: shared, groupSet: changed })[1], [
      `${atLimit}. jobs limit mail --each-group --running 4 raises it.`,
    ]);
  }
  const since = new Map([["mail", { at: NOW - 300_000, user: "bob", details: "2 at once" }]]);
  assertEquals(said({ queues: [{ name: "mail", paused: false, limit }], limits: since })[1], [
    'Queue "mail" is at its limit: 2 of 2 running, set 5m ago by bob. jobs limit mail --running 4 raises it.',
  ]);
  assertEquals(said({ queues: [paused("other")] }), [undefined, []]);
  assertEquals(
    whyHeld(ASLEEP, { workers: [], queues: [paused("*")], now: NOW }),
    undefined,
  );
});

Deno.test("a job whose worker ended with it says how often that counts until it is dead", () => {
  const why = (counts: object) => {
    const payload = JSON.stringify({ class: "Poison", args: [], jid: "p1", ...counts });
    const [first] = whyNotRunning({ ref: "q1", place: { in: "queue", queue: "default" }, payload }, {
      ...{ workers: [], queues: [], now: NOW },
    });
    return first;
  };
  const start = "jobs run handlers.js -q default, or the program of a worker over HTTP, such as python3 worker.py";
  assertEquals(why({}), `No worker is online. Start one with ${start}.`);
  assertEquals(
    why({ suspected: 1 }),
    "Its worker ended once while it had this job: if that happens again, it counts, and after 3 times (maxRescues) the job is dead.",
  );
  assertEquals(
    why({ suspected: 2 }),
    "Its workers ended 2 times while it and other jobs ran: it runs apart from other suspects until one is to blame.",
  );
  assertEquals(
    why({ suspected: 1, rescues: 2 }),
    "Its worker ended with it, 2 of 3 times: at the last (maxRescues) it is dead.",
  );
});

Deno.test("a job in a paused queue says since when, and who paused it", () => {
  const entry: Entry = { ref: "q1", place: { in: "queue", queue: "mail" }, payload: ASLEEP.payload };
  const pauses = new Map([["mail", { at: NOW - 300_000, user: "ann" }]]);
  const around = { workers: [], queues: [{ name: "mail", paused: true }], now: NOW, pauses };
  assertEquals(
    whyNotRunning(entry, around)[0],
    'Queue "mail" is paused until it is resumed, for 5m now, by ann. jobs resume mail resumes it.',
  );
  assertEquals(whyHeld(entry, around), 'queue "mail" is paused until it is resumed');
});
