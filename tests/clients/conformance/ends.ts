/**
 * The cases of arguments, results and ends of jobs.
 *
 * @module
 */
import { asideIn } from "../../../src/job/aside.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { Case } from "./scene.ts";

/** A payload that a client must not change: large integers, `1.0`, escapes, unknown fields. */
const EXACT =
  `{"class":"Try","args":["raw",12345678901234567890,1.0,1e2,"\\u00fc"],"jid":"JID","queue":"QUEUE","x": [ 1 ],"result_ttl":100}`;

export const ends: readonly Case[] = [
  {
    does: "calls the handler with the arguments, and returns its result",
    shared: true,
    async run(scene) {
      const args = ['ü€😀\u2028\0\\"', null, true, -1.5, [[]], { "ключ": { "": 0 } }];
      const jid = await scene.push(["echo", ...args]);
      const { state, result, attempt } = await scene.ended(jid);
      const { queue } = scene;
      assertEquals([state, attempt, result], ["succeeded", 1, { args, attempt: 1, class: "Try", jid, queue }]);
    },
  },
  {
    does: "gives the handler the payload byte for byte",
    shared: true,
    async run(scene) {
      const { bench, queue } = scene;
      const payload = EXACT.replace("JID", `raw-${queue}`).replace("QUEUE", queue);
      await bench.store.jobs.enqueue([{ payload, queue, jid: `raw-${queue}` }]);
      const given = String((await scene.ended(`raw-${queue}`)).result);
      // The store adds when it was enqueued.
      assertEquals(given.replace(/,"enqueued_at":[\d.]+/, ""), payload);
    },
  },
  {
    does: "performs a job of another program that has no ID, and further ones",
    async run(scene) {
      const { bench, queue } = scene;
      await scene.start({ concurrency: 1 });
      const numbered = `{"class":"Try","args":["echo"],"jid":${Date.now()},"wrapped":"","result_ttl":100}`;
      for (const payload of [`{"class":"Try","args":["echo"]}`, numbered]) {
        await bench.store.jobs.enqueue([{ payload, queue, jid: "" }]);
      }
      const { state, result } = await scene.ended(JSON.parse(numbered).jid.toString());
      assertEquals([state, (result as { class: string }).class], ["succeeded", "Try"]);
      assertEquals((await scene.run("echo")).state, "succeeded");
    },
  },
  {
    does: "ends a job without a result",
    shared: true,
    async run(scene) {
      const { state, result } = await scene.run("nothing");
      assertEquals([state, result ?? null], ["succeeded", null]);
    },
  },
  {
    does: "performs a wrapped job with the handler of the wrapped class",
    shared: true,
    async run(scene) {
      const jid = await scene.push(["echo"], { class: "Adapter", wrapped: "Try" });
      assertEquals((await scene.ended(jid)).state, "succeeded");
    },
  },
  {
    does: "fails a job by an error, with its message, stack and causes",
    shared: true,
    async run(scene) {
      const { state, error } = await scene.run("cause");
      assertEquals([state, error?.message], ["dead", "outer ü"]);
      assertMatch(error?.class ?? "", /./);
      assert((error?.stack?.length ?? 0) > 0, "it has a stack");
      assertMatch(error?.causes?.[0] ?? "", /^caused by .*inner/);
    },
  },
  {
    does: "retries a failed job by its options",
    shared: true,
    async run(scene) {
      const jid = await scene.push(["fail", "no such account"], {
        retry: 1,
        backoff: { type: "fixed", base: 0.2, jitter: 0 },
      });
      const { state, attempt, error } = await scene.ended(jid);
      assertEquals([state, attempt, error?.message], ["dead", 2, "no such account"]);
    },
  },
  {
    does: "discards a job",
    shared: true,
    async run(scene) {
      const { state, attempt, error } = await scene.ended(await scene.push(["discard", "not needed"], { retry: 5 }));
      assertEquals([state, attempt, error?.message], ["failed", 1, "not needed"]);
    },
  },
  {
    does: "kills a job",
    shared: true,
    async run(scene) {
      const { state, attempt, error } = await scene.ended(await scene.push(["kill", "can't work"], { retry: 5 }));
      assertEquals([state, attempt, error?.message], ["dead", 1, "can't work"]);
    },
  },
  {
    does: "snoozes a job, which doesn't count as a failure",
    shared: true,
    async run(scene) {
      const { state, result } = await scene.run("snooze", 0.1, Date.now() + 300);
      assertEquals([state, result], ["succeeded", 1]);
    },
  },
  {
    does: "fails the job alone whose end the server refuses",
    shared: true,
    async run(scene) {
      const jids = await Promise.all(
        [["snooze", "soon", Date.now() + 60_000], ["echo"], ["echo"]].map((args) => scene.push(args)),
      );
      const records = await Promise.all(jids.map((jid) => scene.ended(jid)));
      assertEquals(records.map(({ state }) => state), ["dead", "succeeded", "succeeded"]);
      assertStringIncludes(records[0]!.error?.message ?? "", "soon");
    },
  },
  {
    does: "succeeds without a result that isn't JSON, and fails by progress that isn't a number",
    shared: true,
    async run(scene) {
      const { state, result, log } = await scene.run("odd result");
      assertEquals([state, result ?? null], ["succeeded", null]);
      assertStringIncludes(String(log), "The result wasn't kept: The result");
      assertEquals((await scene.run("odd progress")).state, "dead");
      assertEquals((await scene.run("echo")).state, "succeeded");
    },
  },
  {
    does: "ends jobs with results, log lines and messages that are too large",
    shared: true,
    async run(scene) {
      const args = [["text", 4e6], ["text", 4e5], ["text", 4e5], ["text", 4e5], ["log", 1, 5e6], ["log", 2_000, 100]];
      const records = await Promise.all(args.map(async (one) => scene.ended(await scene.push(one))));
      assertEquals(records.map(({ state, result }) => [state, result ?? null]), args.map(() => ["succeeded", null]));
      assertEquals((await scene.run("fail", "e".repeat(500_000))).state, "dead");
    },
  },
  {
    does: "reports progress and log lines",
    shared: true,
    async run(scene) {
      const { progress, log } = await scene.run("progress", 50, "half");
      assertEquals([progress, log], ["50 half", ["it is half n=1"]]);
    },
  },
  {
    does: "pushes a further job from a handler",
    shared: true,
    async run(scene) {
      const { state, result, error } = await scene.run("push", "echo");
      assertEquals([state, error], ["succeeded", undefined]);
      assertEquals((await scene.ended(String(result))).state, "succeeded");
    },
  },
  {
    does: "puts a job of another class aside in its queue",
    shared: true,
    async run(scene) {
      const jid = await scene.push([], { class: "Nothing" });
      const { jobs } = scene.bench.store;
      const isAside = async () => {
        const place = (await jobs.find([jid]))[0]?.place;
        return place?.in === "queue" && asideIn(place.group ?? "")?.class === "Nothing";
      };
      await scene.bench.until(isAside, "it waits aside");
    },
  },
  {
    does: "aborts a job that is cancelled",
    shared: true,
    async run(scene) {
      await abortEach(scene, async (jid) => void await scene.cancel(jid), "cancelled");
    },
  },
  {
    does: "aborts a job whose timeout expires",
    shared: true,
    async run(scene) {
      for (const how of ["wait", "sleep"]) {
        const { state, error } = await scene.ended(await scene.push([how, 30], { timeout: 0.3 }));
        assertEquals([how, state, error?.class], [how, "dead", "Timeout"]);
      }
    },
  },
];

async function abortEach(
  scene: Parameters<Case["run"]>[0],
  abort: (jid: string) => Promise<void>,
  state: string,
): Promise<void> {
  for (const how of ["wait", "sleep"]) {
    const jid = await scene.push([how, 30]);
    await scene.runs(jid);
    await abort(jid);
    assertEquals([how, (await scene.ended(jid)).state], [how, state]);
  }
}
