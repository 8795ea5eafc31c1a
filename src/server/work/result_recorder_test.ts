import { assertEquals } from "@std/assert";
import { jobContext } from "../../../tests/support/job.ts";
import { type Clock, systemClock } from "../../clock.ts";
import { defaultSettings } from "../../config/settings.ts";
import { Registry } from "../../handlers/registry.ts";
import { ResultRecorder } from "./result_recorder.ts";

Deno.test("Jobs that return nothing are remembered while they are few; what asks for it, or returns something, always", () => {
  let now = 0;
  const clock: Clock = { ...systemClock, monotonic: () => now };
  const registry = new Registry().add("Asks", () => {}, { result_ttl: "1h" });
  const settings = defaultSettings();
  const records = (more = {}) =>
    new ResultRecorder({ clock, settings: { ...settings, ...more }, registry, owner: "web1:7:abc" });
  const kept = (of: ResultRecorder, times: number, name?: string, result?: unknown) =>
    Array.from({ length: times }, () => of.done(jobContext({ class: name ?? "Noop" }), result, now)?.record.ttlMs)
      .filter((ttlMs) => ttlMs !== undefined);

  const some = records();
  assertEquals(kept(some, 1_500), new Array(1_000).fill(500_000));
  assertEquals(kept(some, 5, "Asks"), new Array(5).fill(3_600_000));
  assertEquals(kept(some, 5, "Noop", 1), new Array(5).fill(500_000));
  now += 50;
  assertEquals(kept(some, 20).length, 5);

  assertEquals(kept(records({ succeededTtlMs: 600_000 }), 1_500), new Array(1_500).fill(600_000));
  assertEquals(kept(records({ resultTtlMs: 0 }), 10), []);
});
