import { assertEquals } from "@std/assert";
import { runningJob } from "../../../tests/support/job.ts";
import { type Clock, systemClock } from "../../clock.ts";
import { defaultSettings } from "../../config/settings.ts";
import { Registry } from "../../handlers/registry.ts";
import { readReturned } from "../../job/returned.ts";
import { logger } from "../../log/log.ts";
import { ResultRecorder, TokenBucket } from "./result_recorder.ts";

Deno.test("limits the records of jobs that return nothing, but not of those with a result or a result_ttl", () => {
  let now = 0;
  const clock: Clock = { ...systemClock, monotonic: () => now };
  const registry = new Registry().add("HasTtl", () => {}, { result_ttl: "1h" });
  const settings = defaultSettings();
  const recorder = (more = {}) =>
    new ResultRecorder({
      clock,
      settings: { ...settings, ...more },
      registry,
      worker: "web1:7:abc",
      log: logger("processor", clock),
    });
  const kept = (results: ResultRecorder, times: number, name?: string, result?: unknown) =>
    Array.from(
      { length: times },
      () =>
        results.succeeded(runningJob({ class: name ?? "Noop" }), readReturned(result), { since: now, steps: undefined })
          ?.ttlMs,
    )
      .filter((ttlMs) => ttlMs !== undefined);

  const some = recorder();
  assertEquals(kept(some, 1_500), new Array(1_000).fill(500_000));
  assertEquals(kept(some, 5, "HasTtl"), new Array(5).fill(3_600_000));
  assertEquals(kept(some, 5, "Noop", 1), new Array(5).fill(500_000));
  now += 50;
  assertEquals(kept(some, 20).length, 5);

  assertEquals(kept(recorder({ succeededTtlMs: 600_000 }), 1_500), new Array(1_500).fill(600_000));
  assertEquals(kept(recorder({ resultTtlMs: 0 }), 10), []);
});

Deno.test("a record has at most twenty lines of an error's stack, and no payload of more than 16 KiB", () => {
  const results = new ResultRecorder({
    clock: systemClock,
    settings: defaultSettings(),
    registry: new Registry(),
    worker: "web1:7:abc",
    log: logger("processor", systemClock),
  });
  const bodyOf = (lines: number, length: number) => {
    const error = new Error("no");
    error.stack = ["Error: no", ...Array.from({ length: lines }, (_, i) => `    at line${i} (file:///a.ts:1:1)`)].join(
      "\n",
    );
    const base = JSON.stringify({ class: "HardJob", jid: "a".repeat(24), queue: "default", args: [], x: "" }).length;
    const job = runningJob({ payload: { x: "x".repeat(length - base) } });
    assertEquals(job.job.raw.length, length);
    const end = { since: 0, steps: undefined };
    const record = results.failed({ kind: "bury", payload: job.job.raw }, job, error, end);
    return JSON.parse(record!.body);
  };
  assertEquals(bodyOf(20, 1_000).error.stack.length, 20);
  assertEquals(bodyOf(21, 1_000).error.stack.length, 20);
  assertEquals([bodyOf(1, 16_384).payload === undefined, bodyOf(1, 16_385).payload === undefined], [false, true]);
});

Deno.test("gives out a full bucket at once, then tokens at its rate, and never saves more than its capacity", () => {
  let now = 5_000;
  const clock: Clock = { ...systemClock, monotonic: () => now };
  const bucket = new TokenBucket({ clock, perSecond: 10, capacity: 3 });
  const take = (times: number) => Array.from({ length: times }, () => bucket.take()).filter(Boolean).length;
  assertEquals(take(5), 3);
  now += 99;
  assertEquals(take(1), 0);
  now += 1;
  assertEquals(take(2), 1);
  now += 3_600_000;
  assertEquals(take(10), 3);
});
