/**
 * The cases of a worker that has the addresses of two gateways on one store.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { until } from "../../support/eventually.ts";
import { HttpLine } from "../../support/http_line.ts";
import type { JobsProcess } from "../../support/process.ts";
import { type Case, ending, type GatewayProcess, type Scene, textOf } from "./scene.ts";

export const gateways: readonly Case[] = [
  {
    does: "leaves a gateway that answers no more, and continues its jobs at the next",
    async run(scene) {
      const { line, next, program } = await startAtOne(scene);
      await continues(scene, next, program, () => void (line.isStalled = true));
      await stops(program);
    },
  },
  {
    does: "leaves a gateway that is killed, and continues its jobs at the next",
    async run(scene) {
      const { gateway, next, program } = await startAtOne(scene);
      await continues(scene, next, program, () => gateway.kill());
      const pushed = await scene.run("push", "echo");
      assertEquals((await scene.ended(String(pushed.result))).state, "succeeded", "its pushes go there, too");
      await stops(program);
    },
  },
];

/** Starts a program that has registered at the first of two gateways; each behind a proxy. */
async function startAtOne(scene: Scene): Promise<{
  readonly gateway: GatewayProcess;
  readonly line: HttpLine;
  readonly next: HttpLine;
  readonly program: JobsProcess;
}> {
  const gateway = scene.use(await scene.lab.newGateway({ JOBS_HEARTBEAT: "1s" }));
  const line = scene.use(await HttpLine.start(() => gateway.url));
  const next = await scene.line();
  // It begins at any of them, and leaves this one.
  next.spoil("register", "cut before", "cut before");
  const program = await scene.start({ url: `${next.url},${line.url}` });
  next.clear();
  assertEquals(line.requests.get("register"), 1, textOf(program));
  return { gateway, line, next, program };
}

async function continues(
  scene: Scene,
  next: HttpLine,
  program: JobsProcess,
  end: () => void | Promise<void>,
): Promise<void> {
  const go = `${scene.notes}.go`;
  const jid = await scene.push(["wait until", go, scene.notes]);
  await scene.bench.until(async () => (await scene.noted()).length === 1, "it runs");
  await end();
  const settled = next.requests.get("settle") ?? 0;
  await until(() => (next.requests.get("heartbeat") ?? 0) > 0, () => `it is there: ${textOf(program)}`);
  await Deno.writeTextFile(go, "");
  const { state, attempt } = await scene.ended(jid);
  assertEquals([state, attempt, await scene.noted()], ["succeeded", 1, [jid]], textOf(program));
  assertEquals((next.requests.get("settle") ?? 0) > settled, true, "it ends the job there");
  assertEquals((await scene.run("echo")).state, "succeeded");
}

async function stops(program: JobsProcess): Promise<void> {
  program.kill("SIGTERM");
  assertEquals(await ending(program), true, textOf(program));
}
