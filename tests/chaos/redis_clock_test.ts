/**
 * Machines whose clocks are an hour off share a Redis with a correct one. All times are the store's, and no job is early or
 * late, and no worker offline.
 *
 * @module
 */
import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { readWireTime } from "../../src/job/raw.ts";
import { Bench } from "../support/bench.ts";
import { FROM_SOURCES, jobsCommand, useCommand } from "../support/command.ts";
import { jobs } from "../support/process.ts";
import { startRedis } from "../support/redis.ts";

const HOUR_MS = 3_600_000;
const SLACK_MS = 30_000;
const RIGHT = jobsCommand();
const SKEWED = FROM_SOURCES.map((part) =>
  part.endsWith("/main.ts") ? new URL("../support/skewed.ts", import.meta.url).pathname : part
);

for (const hours of [1, -1]) {
  Deno.test(`clocks ${hours > 0 ? "an hour ahead" : "an hour behind"} do no harm`, async () => {
    await using redis = await startRedis();
    await using bench = await Bench.open(redis.url);
    // A busy machine must not make a worker offline either.
    const patient = { JOBS_HEARTBEAT: "500ms", JOBS_HEARTBEAT_TIMEOUT: "20s" };
    const env = { ...patient, JOBS_TEST_SKEW_MS: `${hours * HOUR_MS}` };
    await using right = await bench.server(["-c", "1"], patient);
    const long = await bench.push("Wait", [bench.notes]);
    await bench.noted(`start ${long}`);
    useCommand(SKEWED);
    await using _skewed = await bench.server(["-c", "1", "-q", "skewed"], env);

    // Due after the delay: not earlier, and not after an hour.
    const before = Date.now();
    const soon = await bench.push("Note", [bench.notes], { in: 0.5, queue: "skewed" });
    await bench.noted(soon);
    assert(Date.now() - before >= 500);

    // Pushed from that machine: due after the requested delay, with the correct time in the payload.
    await jobs(["push", "Note", bench.notes, "-q", "later", "--in", "1h", "--store", redis.url], { env });
    await jobs(["push", "Note", bench.notes, "-q", "later", "--store", redis.url], { env });
    useCommand(RIGHT);
    const [scheduled] = (await bench.store.admin.page({ in: "scheduled" })).entries;
    assertAlmostEquals(scheduled!.at!, Date.now() + HOUR_MS, SLACK_MS);
    const [queued] = (await bench.store.admin.page({ in: "queue", queue: "later" })).entries;
    assertAlmostEquals(readWireTime(JSON.parse(queued!.payload).enqueued_at)!, Date.now(), SLACK_MS);

    // Both are alive, and neither considers the other offline.
    const beats = async () =>
      (await bench.store.workers.list()).map((process) => [process.alive, process.heartbeatAt] as const);
    const first = (await beats()).map(([, at]) => at);
    await bench.until(
      async () => (await beats()).every(([, at]) => at > Math.max(...first) + 1_500),
      "heartbeats continue",
    );
    assertEquals((await beats()).map(([alive]) => alive), [true, true]);
    const [lease] = (await bench.store.admin.page({ in: "running" })).entries;
    assertEquals([JSON.parse(lease!.payload).jid, JSON.parse(lease!.payload).rescues], [long, undefined]);
    assertEquals(lease!.worker?.includes(`:${right.pid}:`), true);
  });
}
