/**
 * The connection on which PostgreSQL notifies: what it does while the server is down, is a replica, or its line is dead.
 *
 * @module
 */
import { assert } from "@std/assert";
import { systemClock } from "../src/clock.ts";
import { openStore } from "../src/store/open.ts";
import { ALL_QUEUES } from "../src/store/port/paused_queues.ts";
import { parseAddress } from "../src/store/postgres/address.ts";
import { Client, type ClientOptions } from "../src/store/postgres/client.ts";
import { until } from "./support/eventually.ts";
import { startPostgres } from "./support/postgres.ts";
import { TcpProxy } from "./support/tcp_proxy.ts";

const postgres = await startPostgres();
Deno.test.afterAll(async () => await postgres[Symbol.asyncDispose]());

/** A client that listens through a proxy. */
class Listener implements AsyncDisposable {
  readonly #client: Client;
  readonly #stop: () => Promise<void>;
  /** How often notifications may have been missed. */
  readies = 0;
  heard = "";

  private constructor(client: Client) {
    this.#client = client;
    this.#stop = client.listen("news", (payload) => this.heard = payload, () => this.readies++).stop;
  }

  static async start(port: number, options: Partial<ClientOptions> = {}): Promise<Listener> {
    const client = await Client.create(parseAddress(postgres.url("postgres", port)), { waitMs: 100, ...options });
    return new Listener(client);
  }

  /** Waits until a notification arrives that a server is asked to send. */
  async hears(server: { sql(text: string): Promise<string> }, payload: string): Promise<void> {
    await until(async () => {
      await server.sql(`NOTIFY news, '${payload}'`);
      return this.heard === payload;
    }, () => `"${payload}" arrives`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stop();
    await this.#client.close();
  }
}

Deno.test("a server that is down is dialled with growing pauses, and listened to as soon as it is back", async () => {
  await using proxy = await TcpProxy.start(postgres.port);
  await using listener = await Listener.start(proxy.port);
  await listener.hears(postgres, "before");
  proxy.weather = "closed";
  proxy.cut();
  const before = proxy.accepted;
  await systemClock.sleep(500);
  const dialled = proxy.accepted - before;
  assert(dialled <= 8, `dialled ${dialled} times in half a second`);
  proxy.weather = "fair";
  await listener.hears(postgres, "after");
});

Deno.test("a server that is down at the start is listened to as soon as it is back", async () => {
  await using proxy = await TcpProxy.start(postgres.port);
  proxy.weather = "closed";
  await using listener = await Listener.start(proxy.port);
  await until(() => proxy.accepted > 1, () => "it is dialled again");
  proxy.weather = "fair";
  await listener.hears(postgres, "after");
});

Deno.test("a replica, which rejects LISTEN, is listened to when it has been promoted", async () => {
  await using replica = await startPostgres({ replicaOf: { server: postgres, port: postgres.port } });
  let target = postgres.port;
  await using proxy = await TcpProxy.start(() => target);
  await using listener = await Listener.start(proxy.port);
  await listener.hears(postgres, "from the primary");
  target = replica.port;
  const before = proxy.accepted;
  proxy.cut();
  await until(() => proxy.accepted > before + 1, () => "the replica has rejected it once");
  await replica.sql("SELECT pg_promote()");
  await listener.hears(replica, "from the replica");
});

Deno.test("a dead line is noticed, and replaced", async () => {
  await using proxy = await TcpProxy.start(postgres.port);
  await using listener = await Listener.start(proxy.port, { pingMs: 50, replyTimeoutMs: 200 });
  await listener.hears(postgres, "before");
  const { readies } = listener;
  proxy.freeze();
  await until(() => listener.readies > readies, () => "it listens on another connection");
  await listener.hears(postgres, "after");
});

Deno.test("a resume of all queues notifies those that wait for a queue", async () => {
  const client = await Client.create(parseAddress(postgres.url("postgres")), { waitMs: 100 });
  const heard = new Set<string>();
  const listening = client.listen("jobs_jobs", (payload) => heard.add(payload), () => {});
  try {
    await using store = await openStore(postgres.url("postgres"));
    const stop = new AbortController();
    const waiting = store.watch({ work: ["default"] }, stop.signal);
    await listening.ready;
    await until(async () => {
      await store.admin.configure(ALL_QUEUES, { pause: true });
      await store.admin.configure(ALL_QUEUES, { pause: false });
      return heard.has("work:*");
    }, () => `only ${JSON.stringify([...heard])} arrived`);
    stop.abort();
    await waiting;
  } finally {
    await listening.stop();
    await client.close();
  }
});
