import { assertEquals } from "@std/assert";
import { Client } from "../../client/client.ts";
import { definitionText, readDefinition, stateText } from "../../cron/definition.ts";
import { checkCrontab } from "../../cron/crontab.ts";
import type { CronEntryInput } from "../../cron/entry.ts";
import type { Overlap } from "../../cron/occurrence.ts";
import type { CronState } from "../../cron/plan.ts";
import { CronDecider, RECHECK_MS } from "./cron_decider.ts";
import type { CronReporter } from "./cron_reporter.ts";

const START = Date.UTC(2026, 0, 1);
const MINUTE_MS = 60_000;

const ENTRY = { name: "report", every: "1m", anchor: "2026-01-01T00:00:00Z", class: "A" };

/** Returns the stored definition of an entry. */
function definitionOf(entry: CronEntryInput) {
  const options = { environment: "test", classes: new Set(["A"]), queues: new Set(["default"]) };
  const [checked] = checkCrontab([entry], options).active;
  return readDefinition({ name: checked!.name, definition: definitionText(checked!, "config") })!;
}

/** Decides on an entry that runs each minute, a moment after it was due, while a job of it is live. */
function decide({ overlap, live, waiting, builds = true, now = START + MINUTE_MS + 500 }: {
  readonly overlap: Overlap;
  readonly live?: string;
  readonly waiting?: number;
  readonly builds?: boolean;
  readonly now?: number;
}) {
  const definition = definitionOf({ ...ENTRY, overlap });
  const client = new Client({
    store: {} as never,
    middleware: [(_job, next) => builds ? next() : Promise.resolve({ refused: "stopped" } as never)],
    onUnregistered: () => {},
  });
  const report = { clockAhead: () => {}, clockSetBack: () => {}, records: () => {} } as unknown as CronReporter;
  const announcer = { followEvent: (event: object, subject: object) => [{ ...event, subject } as never] };
  const decider = new CronDecider({ client, report, local: { isRunning: () => false, start: () => {} }, announcer });
  const state: CronState = {
    schedule: definition.schedule,
    considered: START,
    ...(waiting !== undefined && { waiting }),
  };
  const index = { shared: false, tags: [], next: START + MINUTE_MS };
  const text = stateText(state, definition.schedule);
  const stored = { name: "report", version: 3, definition: "", state: text, live, seenAt: now, ...index };
  return decider.decide({ definition, stored, now });
}

Deno.test("a run that is due is written with its job, and the entry is looked at again at its next run", async () => {
  const { write, next, cancel } = await decide({ overlap: "skip" });
  assertEquals([write!.version, write!.jobs.length, write!.awaited, cancel], [3, 1, false, undefined]);
  assertEquals(next, START + 2 * MINUTE_MS);
});

Deno.test("a run that waits for a live job is awaited, and with replace that job is cancelled, again after a second", async () => {
  const queued = await decide({ overlap: "queue-one", live: "j" });
  assertEquals([queued.write!.jobs, queued.write!.awaited, queued.cancel], [[], true, undefined]);
  assertEquals([JSON.parse(queued.write!.state).waiting, queued.next], [START + MINUTE_MS, START + 2 * MINUTE_MS]);
  const replaced = await decide({ overlap: "replace", live: "j" });
  assertEquals([replaced.write!.jobs, replaced.write!.awaited, replaced.cancel], [[], true, "j"]);
  assertEquals(replaced.next, START + MINUTE_MS + 500 + RECHECK_MS);
});

Deno.test("after a job that could not be built the entry is looked at again at once: another run may wait for its end", async () => {
  const { write, next } = await decide({ overlap: "queue-one", waiting: START - MINUTE_MS, builds: false });
  assertEquals([write!.jobs, next], [[], START + MINUTE_MS + 500]);
  const [first] = write!.records.map((text) => JSON.parse(text));
  assertEquals([first.outcome, first.reason], ["skipped", "stopped by middleware"]);
});

Deno.test("an everyProcess run skips each later one until it has ended, not only the next", async () => {
  const definition = definitionOf({ ...ENTRY, everyProcess: true, overlap: "skip" });
  const client = new Client({ store: {} as never, onUnregistered: () => {} });
  const report = { clockAhead: () => {}, clockSetBack: () => {}, records: () => {} } as unknown as CronReporter;
  const started: string[] = [];
  let isEnded = false;
  const isRunning = (jid: string | undefined) => jid === started[0] && !isEnded;
  const decider = new CronDecider({ client, report, local: { isRunning, start: ({ jid }) => void started.push(jid) } });
  const decideAt = async (minutes: number) => {
    const now = START + minutes * MINUTE_MS + 500;
    const stored = { name: "report", version: 3, definition: "", state: "{}", live: undefined, seenAt: now };
    await decider.decide({ definition, stored: { ...stored, shared: false, tags: [], next: 0 }, now });
    return started.length;
  };
  const counts = [await decideAt(0), await decideAt(1), await decideAt(2), await decideAt(3)];
  isEnded = true;
  assertEquals([...counts, await decideAt(4)], [0, 1, 1, 1, 2]);
});

Deno.test("an everyProcess entry that is resumed begins with its next run: the runs of its pause are not missed", async () => {
  const definition = definitionOf({ ...ENTRY, everyProcess: true, overlap: "allow" });
  const client = new Client({ store: {} as never, onUnregistered: () => {} });
  const report = { clockAhead: () => {}, clockSetBack: () => {}, records: () => {} } as unknown as CronReporter;
  let started = 0;
  const local = { isRunning: () => false, start: () => void started++ };
  const decider = new CronDecider({ client, report, local });
  const decideAt = async (minutes: number, paused: boolean) => {
    const now = START + minutes * MINUTE_MS + 500;
    const state = stateText({ schedule: definition.schedule, considered: START, paused }, definition.schedule);
    const stored = { name: "report", version: 3, definition: "", state, live: undefined, seenAt: now };
    await decider.decide({ definition, stored: { ...stored, shared: false, tags: [], next: 0 }, now });
    return started;
  };
  const counts = [
    await decideAt(0, false),
    await decideAt(1, false),
    await decideAt(2, true),
    await decideAt(9, false),
  ];
  assertEquals([...counts, await decideAt(10, false)], [0, 1, 1, 1, 2]);
});

Deno.test("sends missed runs to webhooks, with the decision about them", async () => {
  const missed = await decide({ overlap: "skip", now: START + 10 * MINUTE_MS + 500 });
  const [follow, ...others] = missed.write!.follow!;
  assertEquals(
    [others, follow],
    [[], {
      ...{ type: "cron.missed", subject: { class: "A", queue: "default" } },
      data: {
        ...{ entry: "report", class: "A", count: 9 },
        ...{ first: "2026-01-01T00:01:00.000Z", last: "2026-01-01T00:09:00.000Z" },
      },
    }] as unknown as typeof others,
  );
  assertEquals("follow" in (await decide({ overlap: "skip" })).write!, false);
});
