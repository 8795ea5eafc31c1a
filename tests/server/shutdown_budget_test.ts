/** A stop while the store is down: all parts share one wait for it. */
import { assert, assertEquals } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { defaultSettings } from "../../src/config/settings.ts";
import { Registry } from "../../src/handlers/registry.ts";
import { Launcher } from "../../src/server/launcher.ts";
import { CLOSING_MS, MAX_OVERTIME_MS, SHUTDOWN_BUDGET_MS } from "../../src/server/component.ts";
import { openStore } from "../../src/store/open.ts";
import { Bench } from "../support/bench.ts";
import { FakeClock } from "../support/clock.ts";
import { JobsProcess } from "../support/process.ts";
import { startRedis } from "../support/redis.ts";
import { interceptStore } from "../support/intercept.ts";
import { sqliteFolder } from "../support/stores.ts";
import { StoreError } from "../../src/store/port/errors.ts";
import type { Store } from "../../src/store/admin/store.ts";
import { denoCommand } from "../../scripts/deno_command.ts";

const UNSTORED = "Store not reachable at shutdown: jobs of this worker run again when its heartbeat has expired";
/** The shutdown budget of the real processes here. The default is {@linkcode SHUTDOWN_BUDGET_MS}. */
const TIMEOUT_MS = 300;

/** A store that can stop replying. */
function mutable(store: Store): { store: Store; mute: () => void } {
  let isMute = false;
  const muted = interceptStore(store, ({ pass }) => isMute ? new Promise(() => {}) : pass());
  return { store: muted, mute: () => isMute = true };
}

Deno.test("a store that never replies delays a stop by at most three seconds beyond the shutdown timeout, whatever waits for it", async () => {
  await using real = await openStore("sqlite::memory:");
  const { store, mute } = mutable(real);
  const clock = new FakeClock();
  const started = Promise.withResolvers<void>();
  const registry = new Registry();
  registry.add("Hang", (ctx) => {
    started.resolve();
    return new Promise((_, reject) => ctx.signal.addEventListener("abort", () => reject(ctx.signal.reason)));
  });
  const settings = { ...defaultSettings(), concurrency: 2, shutdownTimeoutMs: 2_000 };
  const launcher = new Launcher({ store, storeUrl: "sqlite::memory:", registry, settings, clock });
  await launcher.start();
  await launcher.client.push({ class: "Hang", args: [] });
  await started.promise;
  mute();
  // A heartbeat, the rescuer and others have sent a request, and wait for a reply.
  await clock.advance(settings.heartbeatMs);
  let hasStopped = false;
  const stopped = launcher.stop().then(() => hasStopped = true);
  await clock.turn();
  await clock.advance(settings.shutdownTimeoutMs + MAX_OVERTIME_MS - CLOSING_MS - 10);
  assert(!hasStopped, "it waits for the store");
  // Parts that stop later try once more.
  for (let i = 0; i < 100 && !hasStopped; i++) await clock.advance(1);
  assert(hasStopped, "it has stopped");
  await stopped;
});

/** A worker with a short shutdown budget that has performed a job and performs another. */
async function performing(bench: Bench): Promise<{ server: JobsProcess; jid: string }> {
  const program = new URL("../support/launcher_child.ts", import.meta.url).pathname;
  const command = denoCommand("run", "-A", program, bench.url, String(TIMEOUT_MS), bench.handlers);
  const server = new JobsProcess({ store: bench.url, command });
  await server.logged("Done", { jid: await bench.push("Note", [bench.notes]) });
  await bench.until(async () => (await bench.store.admin.stats()).processed === 1, "it is settled");
  const jid = await bench.push("Wait", [bench.notes]);
  await bench.noted(`start ${jid}`);
  return { server, jid };
}

/** Asserts that the worker logged the outcomes that it could not store, and exited with 1. */
async function assertUnstored(server: JobsProcess): Promise<void> {
  const { code } = await server.status();
  assertEquals(code, 1, JSON.stringify(server.lines));
  const said = server.lines.filter(({ msg }) => msg === UNSTORED);
  assertEquals(said.map(({ level, outcomes, running }) => ({ level, outcomes, running })), [
    { level: "error", outcomes: 1, running: 0 },
  ]);
  await server.logged("Metrics of classes lost: not stored");
  assertEquals(server.lines.at(-1)?.msg, "Stopped");
}

Deno.test("on Redis, a worker whose store is down permanently logs what it could not store, stops in time and exits with 1", async () => {
  await using redis = await startRedis();
  await using bench = await Bench.open(redis.url);
  const { server } = await performing(bench);
  await using _server = server;
  await redis.kill();
  server.kill("SIGTERM");
  await assertUnstored(server);
});

Deno.test("on SQLite, a worker whose file is locked by another program logs what it could not store, stops in time and exits with 1", async () => {
  await using bench = await Bench.open();
  const { server, jid } = await performing(bench);
  await using _server = server;
  using other = new DatabaseSync(bench.url.slice("sqlite:".length), { timeout: 5_000 });
  other.exec("BEGIN IMMEDIATE");
  server.kill("SIGTERM");
  // The file is still locked.
  await assertUnstored(server);
  other.exec("ROLLBACK");
  const [entry] = await bench.store.jobs.find([jid]);
  assertEquals(entry?.place.in, "running", "left to the rescuer");
});

Deno.test("a stop whose outcomes the store rejects releases their jobs, and fails", async () => {
  await using folder = await sqliteFolder();
  await using store = await folder.open();
  const refused = new StoreError("denied", "this user may not settle");
  const refusing = interceptStore(store, ({ verb, pass }) => verb === "jobs.settle" ? Promise.reject(refused) : pass());
  const clock = new FakeClock();
  const performed = Promise.withResolvers<void>();
  const registry = new Registry().add("Note", () => performed.resolve());
  const settings = { ...defaultSettings(), shutdownTimeoutMs: 0 };
  const launcher = new Launcher({ store: refusing, storeUrl: "sqlite::memory:", registry, settings, clock });
  await launcher.start();
  const jid = await launcher.client.push({ class: "Note", args: [] });
  await performed.promise;
  launcher.inbox.put({ verb: "stop", by: "test" });
  let hasFinished = false;
  void launcher.finished.then(() => hasFinished = true);
  for (let i = 0; i < 2 * SHUTDOWN_BUDGET_MS && !hasFinished; i += 50) await clock.advance(50);
  assert(hasFinished);
  assertEquals(launcher.failure?.message, "Outcomes not stored at shutdown: their jobs run again");
  const { entries } = await store.admin.page({ in: "queue", queue: "default" });
  assertEquals(entries.map(({ payload }) => JSON.parse(payload).jid), [jid]);
  assertEquals(await store.workers.list(), []);
});

Deno.test("a stop works while quiet, and a later resume, wait for a take that the store does not reply to", async () => {
  await using real = await openStore("sqlite::memory:");
  const { store, mute } = mutable(real);
  const clock = new FakeClock();
  const settings = { ...defaultSettings(), shutdownTimeoutMs: 0 };
  const launcher = new Launcher({ store, storeUrl: "sqlite::memory:", registry: new Registry(), settings, clock });
  await launcher.start();
  mute();
  await clock.advance(settings.heartbeatMs);
  for (const verb of ["quiet", "resume", "stop"] as const) launcher.inbox.put({ verb, by: "test" });
  let hasFinished = false;
  void launcher.finished.then(() => hasFinished = true);
  for (let i = 0; i < SHUTDOWN_BUDGET_MS + 100 && !hasFinished; i++) await clock.advance(1);
  assert(hasFinished);
});
