/**
 * The cases of a worker's life: its start, what runs side by side, signals, commands, and the deaths of itself and its gateway.
 *
 * @module
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { until } from "../../support/eventually.ts";
import { ending } from "./programs.ts";
import { type Case, type CaseWorker, freeze, type Scene } from "./scene.ts";

export const life: readonly Case[] = [
  {
    does: "registers its classes, queue, concurrency, runtime and version",
    async run(scene) {
      const program = await scene.start({ concurrency: 7, classes: "Try,Third" });
      const [worker] = await scene.workers();
      const { classes, concurrency, queues, pid, version, alive } = worker!;
      assertEquals([classes, concurrency, queues, alive], [["Third", "Try"], 7, [scene.queue], true]);
      assert(pid === program.pid, `pid ${pid}: expected that of the program, ${program.pid}`);
      assertMatch(version, /^\S+ \d[^,]*, \S+ \d/);
    },
  },
  {
    does: "registers the options of its classes",
    async run(scene) {
      await scene.start({
        classes: "Other",
        options: { retry: 1, backoff: { type: "fixed", base: 0.1, jitter: 0 }, failure_ttl: "1h" },
      });
      await scene.bench.until(async () => {
        const declared = await scene.bench.store.classes.read();
        return declared.find(({ name }) => name === "Other")?.options.includes('"retry":1') === true;
      }, "its options are declared");
    },
  },
  {
    does: "runs as many jobs at once as its concurrency",
    async run(scene) {
      await scene.start({ concurrency: 3 });
      const jids = await Promise.all(Array.from({ length: 5 }, () => scene.push(["wait until", `${scene.notes}.go`])));
      await scene.running(3);
      await Deno.writeTextFile(`${scene.notes}.go`, "");
      for (const jid of jids) assertEquals((await scene.ended(jid)).state, "succeeded");
    },
  },
  {
    does: "ends with the server's message when its token is unknown",
    async run(scene) {
      const program = await scene.launchApart({ token: "wrong" });
      assert(!await ending(program), "exits with an error");
      assertStringIncludes(program.text, "Unknown token");
      await ends(scene, { token: "" }, "No token: expected Authorization");
    },
  },
  {
    does: "ends with the server's message when its role doesn't allow a class",
    async run(scene) {
      await ends(scene, { classes: "Foreign" }, 'Class "Foreign" is outside of your role; expected Try, Other, Third');
    },
  },
  {
    does: "ends with the server's message when an option of a class is misspelled or invalid",
    async run(scene) {
      await ends(scene, { options: { retri: 3 } }, 'Unknown option "retri" of class "Try": did you mean "retry"?');
      await ends(scene, { options: { retry: "often" } }, "retry");
    },
  },
  {
    does: "ends with the server's message when its version of the protocol is unknown there",
    async run(scene) {
      const line = await scene.line();
      const message = "Protocol 1 is unknown here; expected 2: use a client of this version";
      line.spoil("register", {
        status: 422,
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ error: { code: "invalid", message, field: "protocol" } }),
      });
      await ends(scene, { url: line.url }, message);
    },
  },
  {
    does: "waits for its jobs on TERM, takes no more, and deregisters",
    async run(scene) {
      await stops(scene, "SIGTERM");
    },
  },
  {
    does: "does the same on INT",
    async run(scene) {
      await stops(scene, "SIGINT");
    },
  },
  {
    does: "gives back what doesn't end within its shutdown timeout",
    async run(scene) {
      const program = await scene.startApart({ shutdownTimeout: 0.2 });
      for (const how of ["wait", "sleep"]) await scene.push([how, 60]);
      await scene.running(2);
      program.kill("SIGTERM");
      assertEquals(await ending(program), true, program.text);
      // An attempt that a stop has cut short doesn't count: both run again.
      assertEquals(await scene.queued(), 2);
      assertEquals(await scene.workers(), []);
    },
  },
  {
    does: "prints its running jobs on TTIN, and continues",
    async run(scene) {
      const program = await scene.startApart();
      const jid = await scene.push(["note", scene.notes, 2]);
      await scene.bench.until(async () => (await scene.noted()).length === 1, "it runs");
      program.kill("SIGTTIN");
      await until(() => program.text.includes(jid), () => `it prints the job: ${program.text}`);
      assertEquals((await scene.ended(jid)).state, "succeeded");
    },
  },
  {
    does: "takes nothing while it is quiet, and resumes",
    async run(scene) {
      await scene.start();
      await scene.command("quiet");
      await scene.bench.until(async () => (await scene.workers())[0]?.quiet === true, "it is quiet");
      const jid = await scene.push(["echo"]);
      // The answers to two further heartbeats.
      const { heartbeatAt } = (await scene.workers())[0]!;
      await scene.bench.until(
        async () => (await scene.workers())[0]!.heartbeatAt > heartbeatAt + 400,
        "it sends heartbeats",
      );
      assertEquals(await scene.queued(), 1);
      await scene.command("resume");
      assertEquals((await scene.ended(jid)).state, "succeeded");
    },
  },
  {
    does: "stops on command",
    async run(scene) {
      const program = await scene.start();
      await scene.command("stop");
      assertEquals(await ending(program), true, program.text);
      assertEquals(await scene.workers(), []);
    },
  },
  {
    does: "keeps a job that holds its interpreter, as the first one of a worker",
    async run(scene) {
      await keepsHeld(scene, { isFirst: true });
    },
  },
  {
    does: "keeps a job that holds its interpreter, as the second one of a worker",
    async run(scene) {
      await keepsHeld(scene, {});
    },
  },
  {
    does: "keeps a job that holds its interpreter, after its worker had none for a while",
    async run(scene) {
      await keepsHeld(scene, { isIdle: true });
    },
  },
  {
    does: "keeps a job that holds its interpreter after its first heartbeat",
    async run(scene) {
      await keepsHeld(scene, { isFirst: true, waits: 0.5 });
    },
  },
  {
    does: "is known to have begun a suspect that kills it at once",
    async run(scene) {
      const { url } = await scene.lab.gateway("mortal");
      // It has killed two workers, and is dead after the third.
      const jid = await scene.push(["die"], { suspected: 1, rescues: 2 });
      const killed = await scene.startApart({ url });
      assertEquals(await ending(killed), false, killed.text);
      // One in another queue rescues it.
      await scene.launchApart({ url, queue: `${scene.queue}-other` });
      const { state, error } = await scene.ended(jid);
      assertEquals([state, error?.class], ["dead", "WorkerDied"]);
    },
  },
  {
    does: "loses its jobs to another worker when it is killed or frozen, and settles nothing afterwards",
    async run(scene) {
      const { url } = await scene.lab.gateway("mortal");
      const killed = await scene.startApart({ url, concurrency: 1 });
      const frozen = await scene.startApart({ url, concurrency: 1 });
      const go = `${scene.notes}.go`;
      const jids = [1, 2].map(() => scene.push(["wait until", go, scene.notes]));
      await scene.bench.until(async () => (await scene.noted()).length === 2, "both run");
      killed.kill("SIGKILL");
      await freeze(frozen);
      await Promise.all(jids);
      await scene.bench.until(async () => (await scene.workers()).every(({ alive }) => !alive), "they are offline");
      await scene.start({ url, concurrency: 2 });
      await scene.bench.until(async () => (await scene.noted()).length === 4, "both run again");
      await Deno.writeTextFile(go, "");
      for (const jid of await Promise.all(jids)) {
        const { state, attempt } = await scene.ended(jid);
        assertEquals([state, attempt], ["succeeded", 1]);
      }
      frozen.kill("SIGCONT");
      // It registers again, and works: its late end is behind it.
      await scene.bench.until(
        async () => (await scene.workers()).filter(({ alive }) => alive).length === 2,
        "it is back",
      );
      assertEquals((await scene.noted()).length, 4);
    },
  },
  {
    does: "ends a job of another worker, which doesn't count, and continues",
    async run(scene) {
      const owner = await scene.start({ concurrency: 1 });
      const { id } = (await scene.workers())[0]!;
      const go = `${scene.notes}.go`;
      const jid = await scene.push(["wait until", go]);
      await scene.running();
      const [token] = await scene.bench.store.jobs.stillLeased(id);
      const payload = JSON.stringify({ class: "Try", args: ["echo"], jid, queue: scene.queue });
      const job = { token, payload, queue: scene.queue, attempt: 1, receipt: "0.x", jid, class: "Try" };
      const line = await scene.line();
      line.spoil("take", {
        status: 200,
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ jobs: [job], quiet: false, stopping: false }),
      });
      const other = await scene.start({ url: line.url });
      await until(() => line.requests.get("settle") === 1, () => `it ends the job: ${other.text}`);
      assertEquals((await scene.run("echo")).state, "succeeded", "it continues");
      await Deno.writeTextFile(go, "");
      const { state, result, worker } = await scene.ended(jid);
      assertEquals([state, result ?? null, worker], ["succeeded", null, id], owner.text);
    },
  },
  ...(["SIGKILL", "SIGTERM"] as const).map((signal): Case => ({
    does: `continues its jobs when its gateway is replaced by ${signal}`,
    async run(scene) {
      await scene.lab.withReplaceable(async (gateway) => {
        await scene.start({ url: gateway.url });
        const jid = await scene.push(["wait until", `${scene.notes}.go`, scene.notes]);
        await scene.bench.until(async () => (await scene.noted()).length === 1, "it runs");
        await gateway.end(signal);
        await gateway.restart();
        await Deno.writeTextFile(`${scene.notes}.go`, "");
        const { state, attempt } = await scene.ended(jid);
        assertEquals([state, attempt, await scene.noted()], ["succeeded", 1, [jid]]);
        assertEquals((await scene.run("echo")).state, "succeeded");
      });
    },
  })),
];

/** A job holds the interpreter of its worker, while another worker waits for jobs. */
async function keepsHeld(
  scene: Scene,
  { isFirst = false, isIdle = false, waits = 0 }: { isFirst?: boolean; isIdle?: boolean; waits?: number },
): Promise<void> {
  const { url } = await scene.lab.gateway("steady");
  const go = `${scene.notes}.go`;
  const push = () => scene.push(["block", go, scene.notes, waits]);
  const first = isFirst ? await push() : undefined;
  await scene.startApart({ url, concurrency: 1 });
  const { id } = (await scene.workers())[0]!;
  const heartbeatAt = async () => (await scene.workers()).find((worker) => worker.id === id)?.heartbeatAt ?? 0;
  if (!isFirst) await scene.run("echo");
  if (isIdle) {
    const ended = await heartbeatAt();
    await scene.bench.until(async () => await heartbeatAt() > ended + 2_000, "it has had no job for two heartbeats");
  }
  const jid = first ?? await push();
  await scene.bench.until(async () => (await scene.noted()).length === 1, "it holds its interpreter");
  const held = await heartbeatAt();
  const other = await scene.startApart({ url });
  // A request that was open before answers for one second.
  const end = async () => (await scene.noted()).length > 1 || await heartbeatAt() > held + 4_000;
  await scene.bench.until(end, "it sends heartbeats, or the job runs again");
  assertEquals(await scene.noted(), [jid], other.text);
  await Deno.writeTextFile(go, "");
  const { state, attempt, log } = await scene.ended(jid);
  assertEquals([state, attempt, log], ["succeeded", 1, ["blocks"]]);
}

async function ends(scene: Scene, options: CaseWorker, message: string): Promise<void> {
  const worker = await scene.launch(options);
  assert(!await ending(worker), `ends with an error: ${worker.text}`);
  assertStringIncludes(worker.end!.error!, message);
}

async function stops(scene: Scene, signal: Deno.Signal): Promise<void> {
  const line = await scene.line();
  const program = await scene.startApart({ url: line.url });
  const jid = await scene.push(["wait until", `${scene.notes}.go`]);
  await scene.running();
  await until(() => line.open.get("take") === 1, "it waits for more jobs");
  program.kill(signal);
  await until(() => line.open.get("take") === 0, "it takes no more jobs");
  const later = await scene.push(["echo"]);
  await Deno.writeTextFile(`${scene.notes}.go`, "");
  assertEquals((await scene.ended(jid)).state, "succeeded");
  assertEquals(await ending(program), true, program.text);
  assertEquals(await scene.workers(), []);
  await scene.bench.until(async () => await scene.queued() === 1, `job ${later} waits`);
}
