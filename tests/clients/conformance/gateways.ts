/**
 * The cases of a worker that has the addresses of two gateways on one store.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { until } from "../../support/eventually.ts";
import { HttpLine } from "../../support/http_line.ts";
import { ending, type StartedWorker } from "./programs.ts";
import type { Case, GatewayProcess, Scene } from "./scene.ts";

export const gateways: readonly Case[] = [
  {
    does: "leaves a gateway that answers no more, and continues its jobs at the next",
    run: (scene) =>
      scene.lab.withReplaceable(async (gateway) => {
        const { line, next, worker } = await startAtOne(scene, gateway);
        await continues(scene, next, worker, () => void (line.isStalled = true));
        // The queue is older than the gateway's list of queues, to which its token may push.
        const pushed = await scene.run("push", "echo");
        assertEquals((await scene.ended(String(pushed.result))).state, "succeeded", "its pushes go there, too");
        await stops(scene, worker);
      }),
  },
  {
    does: "leaves a gateway that is killed, and continues its jobs at the next",
    run: (scene) =>
      scene.lab.withReplaceable(async (gateway) => {
        const { next, worker } = await startAtOne(scene, gateway);
        await continues(scene, next, worker, () => gateway.end("SIGKILL"));
        await stops(scene, worker);
      }),
  },
  {
    does: "deregisters where it has registered, although its open requests to that gateway are ended at a stop",
    run: (scene) =>
      scene.lab.withReplaceable(async (gateway) => {
        const { url } = await scene.lab.gateway();
        const program = await scene.startApart({ url: `${gateway.url},${url}` });
        const go = `${scene.notes}.go`;
        const jid = await scene.push(["wait until", go]);
        await scene.running();
        // The heartbeat that was sent while the job ran is still open, like the request for jobs.
        await Deno.writeTextFile(go, "");
        assertEquals((await scene.ended(jid)).state, "succeeded");
        program.kill("SIGTERM");
        assertEquals([await ending(program), await scene.workers()], [true, []], program.text);
      }),
  },
];

/** Starts a worker that has registered at the first of two gateways; each behind a proxy. */
async function startAtOne(scene: Scene, gateway: GatewayProcess): Promise<{
  readonly line: HttpLine;
  readonly next: HttpLine;
  readonly worker: StartedWorker;
}> {
  const line = scene.use(await HttpLine.start(() => gateway.url));
  const next = await scene.line();
  // It begins at any of them, and leaves this one.
  next.spoil("register", "cut before", "cut before");
  const worker = await scene.start({ url: `${next.url},${line.url}` });
  next.clear();
  assertEquals(line.requests.get("register"), 1, worker.text);
  return { line, next, worker };
}

async function continues(
  scene: Scene,
  next: HttpLine,
  worker: StartedWorker,
  end: () => void | Promise<void>,
): Promise<void> {
  const go = `${scene.notes}.go`;
  const jid = await scene.push(["wait until", go, scene.notes]);
  await scene.bench.until(async () => (await scene.noted()).length === 1, "it runs");
  await end();
  const settled = next.requests.get("settle") ?? 0;
  await until(() => (next.requests.get("heartbeat") ?? 0) > 0, () => `it is there: ${worker.text}`);
  await Deno.writeTextFile(go, "");
  const { state, attempt } = await scene.ended(jid);
  assertEquals([state, attempt, await scene.noted()], ["succeeded", 1, [jid]], worker.text);
  assertEquals((next.requests.get("settle") ?? 0) > settled, true, "it ends the job there");
  assertEquals((await scene.run("echo")).state, "succeeded");
}

async function stops(scene: Scene, worker: StartedWorker): Promise<void> {
  await scene.command("stop");
  assertEquals(await ending(worker), true, worker.text);
}
