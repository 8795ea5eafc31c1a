/** A worker that becomes quiet after the reply to its last take was lost. */
import { assertEquals } from "@std/assert";
import { defaultSettings } from "../../src/config/settings.ts";
import { Registry } from "../../src/handlers/registry.ts";
import { Launcher } from "../../src/server/launcher.ts";
import { openStore } from "../../src/store/open.ts";
import { jobs } from "../store_contract/jobs.ts";
import { FakeClock } from "../support/clock.ts";
import { until } from "../support/eventually.ts";
import { type RedisServer, startRedis } from "../support/redis.ts";
import { TcpProxy } from "../support/tcp_proxy.ts";
import type { Store } from "../../src/store/admin/store.ts";

/** A worker whose take succeeded on Redis, and whose fetcher backs off because the reply was lost. */
class Lab implements AsyncDisposable {
  readonly launcher: Launcher;
  readonly store: Store;
  readonly clock: FakeClock;
  readonly #stack: AsyncDisposableStack;

  private constructor(launcher: Launcher, parts: { store: Store; clock: FakeClock; stack: AsyncDisposableStack }) {
    this.launcher = launcher;
    this.store = parts.store;
    this.clock = parts.clock;
    this.#stack = parts.stack;
  }

  static async open(redis: RedisServer): Promise<Lab> {
    const stack = new AsyncDisposableStack();
    const store = stack.use(await openStore(redis.url));
    // Redis has the script afterwards, so the next reply is that of the take.
    await store.jobs.take({ queues: ["default"], limit: 1, worker: "host:9:z" });
    await store.jobs.enqueue(jobs(1, 3));
    const proxy = stack.use(await TcpProxy.start(redis.port));
    const distant = stack.use(await openStore(`redis://127.0.0.1:${proxy.port}/0`, { waitMs: 200 }));
    const take = distant.jobs.take.bind(distant);
    const failed = Promise.withResolvers<void>();
    distant.jobs.take = async (request) => {
      proxy.cutNextAnswer();
      proxy.weather = "closed";
      try {
        return await take(request);
      } catch (error) {
        failed.resolve();
        throw error;
      } finally {
        distant.jobs.take = take;
        proxy.weather = "fair";
      }
    };
    const clock = new FakeClock();
    // The heartbeat runs in this thread.
    const launcher = new Launcher({
      store: distant,
      storeUrl: "sqlite::memory:",
      registry: new Registry().add("HardJob", () => {}),
      settings: { ...defaultSettings(), concurrency: 2 },
      clock,
    });
    await launcher.start();
    await failed.promise;
    assertEquals((await store.admin.stats()).running, 2);
    return new Lab(launcher, { store, clock, stack });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const stopped = this.launcher.stop();
    await this.clock.advance(60_000);
    await stopped;
    await this.#stack[Symbol.asyncDispose]();
  }
}

Deno.test("quiet returns the jobs of a take whose reply was lost, in order, while the fetcher backs off", async () => {
  await using redis = await startRedis();
  await using lab = await Lab.open(redis);
  lab.launcher.inbox.put({ verb: "quiet", by: "SIGTSTP" });
  await until(async () => {
    // An attempt that fails on a busy machine is repeated.
    await lab.clock.advance(100);
    return (await lab.store.admin.stats()).running === 0;
  }, "the jobs are given back");
  const { entries } = await lab.store.admin.page({ in: "queue", queue: "default" });
  assertEquals(entries.map(({ payload }) => JSON.parse(payload).args[0]).sort(), [1, 2, 3]);
  const [next] = await lab.store.jobs.take({ queues: ["default"], limit: 1, worker: "host:2:b" });
  assertEquals(JSON.parse(next!.payload).args, [1]);
});

Deno.test("resume after such a quiet performs these jobs", async () => {
  await using redis = await startRedis();
  await using lab = await Lab.open(redis);
  lab.launcher.inbox.put({ verb: "quiet", by: "SIGTSTP" });
  lab.launcher.inbox.put({ verb: "resume", by: "SIGCONT" });
  await until(async () => {
    await lab.clock.advance(10);
    return (await lab.store.admin.stats()).processed === 3;
  }, "all jobs are performed");
});
