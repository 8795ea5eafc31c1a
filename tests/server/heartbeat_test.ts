/**
 * A worker whose heartbeats do not reach the store.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { defaultSettings } from "../../src/config/settings.ts";
import { Registry } from "../../src/handlers/registry.ts";
import type { ShutdownBudget } from "../../src/server/component.ts";
import { Tasks } from "../../src/server/control/tasks.ts";
import { Launcher } from "../../src/server/launcher.ts";
import { Heartbeat, type HeartbeatOptions } from "../../src/server/liveness/heartbeat.ts";
import { OutageLog } from "../../src/server/outage_log.ts";
import { openStore } from "../../src/store/open.ts";
import { StoreError } from "../../src/store/port/errors.ts";
import { Bench } from "../support/bench.ts";
import { FakeClock } from "../support/clock.ts";
import { until } from "../support/eventually.ts";

import { KeptLog } from "../support/log.ts";
import { JobsProcess } from "../support/process.ts";
import { startRedis } from "../support/redis.ts";
import { TcpProxy } from "../support/tcp_proxy.ts";

Deno.test("a worker takes no jobs before its heartbeat thread reaches the store", async () => {
  await using redis = await startRedis();
  await using proxy = await TcpProxy.start(redis.port);
  await using bench = await Bench.open(redis.url);
  const jid = await bench.push("Note", [bench.notes]);
  // One connection is enough to register and to take jobs, and leaves none for the thread.
  proxy.maxConnections = 1;
  await using _worker = new JobsProcess({ store: `redis://127.0.0.1:${proxy.port}/0`, args: [bench.handlers] });
  await until(() => proxy.accepted > 4, "the thread tries to connect");
  assertEquals(await bench.readNotes(), []);
  proxy.maxConnections = Infinity;
  await bench.noted(jid);
});

Deno.test("a heartbeat that meets a short outage is sent again within a tenth of the timeout", async () => {
  const clock = new FakeClock();
  const log = new KeptLog();
  const sent: number[] = [];
  const workers = {
    heartbeat: () => {
      sent.push(clock.monotonic());
      if (sent.length === 3) return Promise.reject(new StoreError("unavailable", "down"));
      return Promise.resolve({ commands: [], lapsed: false });
    },
    deregister: () => Promise.resolve(),
  };
  const watch = (_topic: unknown, signal: AbortSignal) =>
    new Promise<boolean>((resolve) => signal.addEventListener("abort", () => resolve(false)));
  const heartbeat = new Heartbeat({
    ...{ store: { workers, watch }, describe: () => ({ id: "w" }), storeUrl: "sqlite::memory:", isDriven: false },
    ...{ intervalMs: 4_000, ttlMs: 10_000, outage: new OutageLog(), tasks: new Tasks(clock), clock, log },
  } as unknown as HeartbeatOptions);
  await heartbeat.start();
  for (let ms = 0; ms < 13_000; ms += 500) await clock.advance(500);
  assertEquals(sent, [0, 4_000, 8_000, 9_000, 13_000]);
  assertEquals(log.lines.map(({ message }) => message), ["Heartbeat failed"]);
  await heartbeat.stop({ within: (ends: Promise<unknown>) => ends.then(() => true) } as unknown as ShutdownBudget);
});

Deno.test("a worker whose heartbeats need no thread allocates no memory to share with one", async () => {
  const store = await openStore("sqlite::memory:");
  const { SharedArrayBuffer } = globalThis;
  let bytes = 0;
  globalThis.SharedArrayBuffer = class extends SharedArrayBuffer {
    constructor(length: number) {
      super(length);
      bytes += length;
    }
  } as SharedArrayBufferConstructor;
  try {
    const options = { store, storeUrl: "sqlite::memory:", registry: new Registry(), settings: defaultSettings() };
    const launcher = new Launcher(options);
    await launcher.start();
    await launcher.stop();
  } finally {
    globalThis.SharedArrayBuffer = SharedArrayBuffer;
    await store[Symbol.asyncDispose]();
  }
  assertEquals(bytes, 0);
});
