import { assertEquals } from "@std/assert";
import { runningJob } from "../../../tests/support/job.ts";
import { FakeClock } from "../../../tests/support/clock.ts";
import { KeptLog } from "../../../tests/support/log.ts";
import { defaultSettings } from "../../config/settings.ts";
import { Registry } from "../../handlers/registry.ts";
import { HandlerMissing, Snooze } from "../../job/errors.ts";
import { isExpired } from "../../job/time.ts";
import { MAX_HANDLER_WAIT_MS, Retrier, waitForHandler } from "./retrier.ts";

const ERROR = new HandlerMissing("New", []);
const SINCE = 1_900_000_000_000;

/** The outcome of a job that found no handler after this time, in the middle of the jitter. */
function after(waitedMs: number, error: unknown = ERROR, more: Record<string, unknown> = { no_handler_since: 1.9e9 }) {
  const job = runningJob({ class: "New", payload: more });
  return waitForHandler(job, { error, now: SINCE + waitedMs, wire: 7, random: () => 0.5 });
}

Deno.test("waits longer for a handler the longer it has waited, and fails as any job after a week", () => {
  const delays = [0, 60_000, 3_600_000].map((waitedMs) => after(waitedMs)?.delayMs);
  assertEquals(delays, [5_000, 30_000, 600_000]);
  assertEquals(after(MAX_HANDLER_WAIT_MS), undefined);
  // The clock of another worker is behind.
  assertEquals(after(-60_000)?.delayMs, 5_000);
});

Deno.test("notes when a handler was missing first, uses no attempt, and leaves other failures alone", () => {
  const first = JSON.parse(after(0, ERROR, { retry_count: 2 })!.payload);
  assertEquals([first.no_handler_since, first.retry_count], [1.9e9, 2]);
  assertEquals(JSON.parse(after(60_000)!.payload).no_handler_since, 1.9e9);
  assertEquals(after(0, new Error("no handler")), undefined);
});

/** Returns the retrier of a worker with these handlers. */
function retrierOf(registry = new Registry()): Retrier {
  const log = new KeptLog();
  const options = { clock: new FakeClock(), settings: defaultSettings(), registry, hooks: {}, log, worker: "w" };
  return new Retrier(options as unknown as ConstructorParameters<typeof Retrier>[0]);
}

Deno.test("a job goes aside if the worker lacks its class, and waits if only its isolated process does", async () => {
  const retrier = retrierOf();
  const end = await retrier.end(runningJob({ class: "New" }), ERROR);
  assertEquals([end.kind, "class" in end && end.class], ["aside", "New"]);
  const isolating = retrierOf(new Registry().add("New", () => {}));
  assertEquals((await isolating.end(runningJob({ class: "New" }), ERROR)).kind, "snooze");
  // PostgreSQL couldn't index the name of its place.
  assertEquals((await retrier.end(runningJob({ class: "New".repeat(1_000) }), ERROR)).kind, "snooze");
});

Deno.test("a job that has snoozed is marked as begun if its lock ends at its start: a migration gives it no other", async () => {
  for (const [until, begun] of [["start", true], ["success", undefined]] as const) {
    const job = runningJob({ payload: { unique_for: 60, unique_key: "k", unique_until: until } });
    const end = await retrierOf().end(job, new Snooze(1));
    assertEquals(JSON.parse((end as { payload: string }).payload).begun, begun);
  }
});

Deno.test("a job that has snoozed doesn't expire while it waits for its next run", async () => {
  const job = runningJob({ payload: { expires_in: 2, created_at: 1.7e12 } });
  const end = await retrierOf().end(job, new Snooze(1));
  assertEquals(end.kind, "snooze");
  assertEquals(isExpired(JSON.parse((end as { payload: string }).payload), Date.now()), false);
});
