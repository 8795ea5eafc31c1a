/** A stop during a start that hangs: the process ends at once, and leaves nothing behind. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { defaultSettings } from "../../src/config/settings.ts";
import { Registry } from "../../src/handlers/registry.ts";
import { Launcher } from "../../src/server/launcher.ts";
import { Inbox } from "../../src/server/control/signals.ts";
import { openStore } from "../../src/store/open.ts";
import { Bench } from "../support/bench.ts";
import { FakeClock } from "../support/clock.ts";
import { jobsCommand } from "../support/command.ts";
import { until } from "../support/eventually.ts";
import { JobsProcess } from "../support/process.ts";
import { interceptStore } from "../support/intercept.ts";

/** A module that notes its process when it is loaded. Its loading never ends. */
async function hangingModule(bench: Bench): Promise<string> {
  const path = `${bench.folder}/hanging.js`;
  await Deno.writeTextFile(
    path,
    `Deno.writeTextFileSync(${JSON.stringify(bench.notes)}, "loading " + Deno.pid + "\\n", { append: true });
     await new Promise(() => {});
     export function Noop() {}`,
  );
  return path;
}

function exists(path: string): Promise<boolean> {
  return Deno.stat(path).then(() => true, () => false);
}

/** A server that accepts connections and never replies. */
function muteServer(): { url: string; asked: Promise<void> } & Disposable {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const connections: Deno.Conn[] = [];
  const asked = Promise.withResolvers<void>();
  void (async () => {
    for await (const connection of listener) {
      connections.push(connection);
      asked.resolve();
    }
  })();
  return {
    url: `redis://127.0.0.1:${(listener.addr as Deno.NetAddr).port}`,
    asked: asked.promise,
    [Symbol.dispose]() {
      listener.close();
      for (const connection of connections) connection.close();
    },
  };
}

for (const signal of ["SIGTERM", "SIGINT"] as const) {
  Deno.test(`${signal} while the store does not reply ends jobs run at once with code 0, and removes its pidfile`, async () => {
    await using bench = await Bench.open();
    using store = muteServer();
    const pidfile = `${bench.folder}/pid`;
    await using server = new JobsProcess({ store: store.url, args: [bench.handlers, "--pid-file", pidfile] });
    await store.asked;
    assert(await exists(pidfile));
    server.kill(signal);
    assertEquals((await server.status()).code, 0);
    assertEquals(server.lines.map(({ msg }) => msg), [`jobs: Stopped by ${signal} while starting (store)`]);
    assert(!await exists(pidfile));
  });
}

Deno.test("TERM while a module of handlers is loading ends jobs run at once with code 0", async () => {
  await using bench = await Bench.open();
  await using server = new JobsProcess({ store: bench.url, args: [await hangingModule(bench)] });
  await bench.noted(`loading ${server.pid}`);
  server.kill("SIGTERM");
  assertEquals((await server.status()).code, 0);
  assertEquals(server.lines.map(({ msg }) => msg), ["jobs: Stopped by SIGTERM while starting (handlers)"]);
});

Deno.test("TERM while the store does not reply ends jobs web at once with code 0", async () => {
  using store = muteServer();
  await using web = new JobsProcess({ store: "", command: [...jobsCommand(), "web", "0", "--store", store.url] });
  await store.asked;
  web.kill("SIGTERM");
  assertEquals((await web.status()).code, 0);
  assertMatch(web.lines.at(-1)!.msg, /while starting \(store\)/);
});

Deno.test("TERM while the first of several workers starts ends all, and starts no more", async () => {
  await using bench = await Bench.open();
  const module = await hangingModule(bench);
  await using server = new JobsProcess({ store: bench.url, args: [module, "--processes", "2"] });
  await bench.until(async () => (await bench.readNotes()).length === 1);
  server.kill("SIGTERM");
  assertEquals((await server.status()).code, 0);
  assertEquals((await bench.readNotes()).length, 1);
  assert(!await exists(`/proc/${(await bench.readNotes())[0]!.split(" ")[1]}`));
});

Deno.test("a second TERM kills a process whose start ignores the first", async () => {
  await using bench = await Bench.open();
  const module = `${bench.folder}/spinning.js`;
  await Deno.writeTextFile(
    module,
    `Deno.writeTextFileSync(${JSON.stringify(bench.notes)}, "spinning\\n"); for (;;);`,
  );
  await using server = new JobsProcess({ store: bench.url, args: [module, "--processes", "2"] });
  await bench.noted("spinning");
  server.kill("SIGTERM");
  await server.logged("Stopping");
  server.kill("SIGTERM");
  assertEquals((await server.status()).code, 0);
});

Deno.test("a worker that is stopped during its start deregisters, and start() rejects", async () => {
  await using store = await openStore("sqlite::memory:");
  const inbox = new Inbox();
  const registered = Promise.withResolvers<void>();
  let taken = 0;
  const take = store.jobs.take.bind(store.jobs);
  store.jobs.take = (...args) => (taken++, take(...args));
  const launcher = new Launcher({
    store,
    inbox,
    storeUrl: "sqlite::memory:",
    registry: new Registry().add("Noop", () => {}),
    settings: { ...defaultSettings(), name: "mail" },
    hooks: { startup: () => (registered.resolve(), new Promise(() => {})) },
  });
  const start = launcher.start();
  await registered.promise;
  assertEquals((await store.workers.list()).length, 1);
  inbox.put({ verb: "quiet", by: "SIGTSTP" });
  inbox.put({ verb: "resume", by: "SIGCONT" });
  inbox.put({ verb: "stop", by: "SIGTERM" });
  assertEquals(await start, false);
  await launcher.finished;
  assertEquals([await store.workers.list(), taken], [[], 0]);
  assertEquals((await store.workers.claim("name:mail", "another", 1_000))?.worker, "another", "its name is free");
});

Deno.test("a store that does not reply to the first heartbeat delays such a stop by a second, and no heartbeat follows", async () => {
  await using bench = await Bench.open();
  const real = bench.store;
  const clock = new FakeClock();
  const inbox = new Inbox();
  const asked = Promise.withResolvers<void>();
  const beat = Promise.withResolvers<void>();
  const store = interceptStore(real, async ({ verb, pass }) => {
    if (verb === "workers.deregister") return await new Promise(() => {});
    if (verb === "workers.heartbeat") {
      asked.resolve();
      await beat.promise;
    }
    return await pass();
  });
  const settings = { ...defaultSettings() };
  const launcher = new Launcher({
    store,
    inbox,
    clock,
    settings,
    storeUrl: bench.url,
    registry: new Registry(),
  });
  const start = launcher.start();
  await asked.promise;
  inbox.put({ verb: "stop", by: "SIGTERM" });
  await clock.turn();
  // And a moment for each later request.
  await clock.advance(1_050);
  assertEquals(await start, false);
  beat.resolve();
  await until(async () => (await real.workers.list()).length === 1, "the first beat arrives after all");
  await clock.turn();
  assert(!launcher.dump().some((line) => line.includes("heartbeat")), "nothing goes on beating");
});
