/**
 * PostgreSQL behind lines that die silently, and behind something that accepts a login and closes the connection. And a client that is
 * closed while it is in use.
 *
 * @module
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { once } from "node:events";
import { type AddressInfo, createServer, Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { openStore } from "../src/store/open.ts";
import { StoreError } from "../src/store/port/errors.ts";
import { parseAddress } from "../src/store/postgres/address.ts";
import { Client } from "../src/store/postgres/client.ts";
import { workerRecord } from "./store_contract/jobs.ts";
import { until } from "./support/eventually.ts";
import { startPostgres } from "./support/postgres.ts";
import { TcpProxy } from "./support/tcp_proxy.ts";
import { requireTool } from "./support/tools.ts";

const postgres = await startPostgres();
Deno.test.afterAll(async () => await postgres[Symbol.asyncDispose]());

/** Runs this many transactions at once, each on a separate connection. */
async function transactAtOnce(client: Client, count: number): Promise<void> {
  const all = Promise.withResolvers<void>();
  let begun = 0;
  await Promise.all(Array.from({ length: count }, () =>
    client.transaction("1 AS one", async (query) => {
      if (++begun === count) all.resolve();
      await all.promise;
      await query("SELECT 1", []);
    })));
}

Deno.test("a silent line is replaced, even if a silence takes longer to notice than calls wait for a connection", async () => {
  await using proxy = await TcpProxy.start(postgres.port);
  const options = { waitMs: 1_000, replyTimeoutMs: 2_000, idleTimeoutMs: 60_000 };
  const clients = await Promise.all(
    [1, 2].map(() => Client.create(parseAddress(postgres.url("postgres", proxy.port)), options)),
  );
  const [one, other] = clients as [Client, Client];
  await one.run("SELECT 1");
  await transactAtOnce(other, 4);
  proxy.freeze();
  assertEquals((await one.run("SELECT 2 AS two"))[0]!.two, 2);
  // The lines of all four are dead.
  assertEquals((await other.transaction("3 AS three", (_, first) => Promise.resolve(first))).three, 3);
  await Promise.all(clients.map((client) => client.close()));
});

Deno.test("a transaction is repeated, even if it takes longer to learn its outcome than calls wait for a connection", async () => {
  const database = await postgres.create();
  await (await openStore(postgres.url(database)))[Symbol.asyncDispose]();
  await using proxy = await TcpProxy.start(postgres.port);
  const client = await Client.create(parseAddress(postgres.url(database, proxy.port)), {
    waitMs: 500,
    replyTimeoutMs: 1_000,
  });
  await client.run("SELECT 1");
  let runs = 0;
  const run = async (_query: unknown, { pid }: Record<string, unknown>) => {
    if (++runs > 1) return;
    // Those that ask for the outcome get no answer.
    proxy.freeze();
    await postgres.sql(`SELECT pg_terminate_backend(${pid})`);
  };
  await client.transaction("pg_backend_pid() AS pid", run, { marks: "jobs.mark" });
  assertEquals(runs, 2);
  await client.close();
});

Deno.test("a closed client runs no transaction that waited for a connection", async () => {
  const options = { waitMs: 10_000, idleTimeoutMs: 60_000, replyTimeoutMs: 60_000 };
  const client = await Client.create(parseAddress(postgres.url()), options);
  const gate = Promise.withResolvers<void>();
  let begun = 0;
  const transact = () =>
    client.transaction("1 AS one", async () => {
      begun++;
      await gate.promise;
    });
  const running = Array.from({ length: 4 }, transact);
  await until(() => begun === 4, () => "all connections are in use");
  const waiting = assertRejects(transact, StoreError, "has been closed");
  await client.close();
  await waiting;
  gate.resolve();
  await Promise.all(running);
  assertEquals(begun, 4);
  // Waits for the connections that were in use.
  await client.close();
});

Deno.test("a silent line takes no worker offline", async () => {
  await using proxy = await TcpProxy.start(postgres.port);
  await using store = await openStore(postgres.url(await postgres.create(), proxy.port));
  const beat = () => store.workers.heartbeat(workerRecord("host:1:aaaaaaaaaaaa"), 20_000);
  await beat();
  proxy.freeze();
  assertEquals((await beat()).lapsed, false);
});

/** Returns the sockets that are connected from now on. */
function watchSockets(): Disposable & { readonly sockets: readonly Socket[] } {
  const sockets: Socket[] = [];
  const { connect } = Socket.prototype;
  Socket.prototype.connect = function (this: Socket, ...to: unknown[]) {
    sockets.push(this);
    return Reflect.apply(connect, this, to);
  } as typeof connect;
  return { sockets, [Symbol.dispose]: () => void (Socket.prototype.connect = connect) };
}

Deno.test("a statement that is sent while its connection ends is answered", async () => {
  await using proxy = await TcpProxy.start(postgres.port);
  const log: string[] = [];
  const client = await Client.create(parseAddress(postgres.url("postgres", proxy.port)), {
    ...{ waitMs: 10_000, replyTimeoutMs: 3_000 },
    log: (_, line) => void log.push(line),
  });
  for (const event of ["end", "error", "close"]) {
    using watched = watchSockets();
    proxy.cut();
    await client.run("SELECT 1");
    const sent = Promise.withResolvers<unknown>();
    // The driver sends it a few turns later: after an error, but before the connection is closed, for example.
    watched.sockets[0]!.prependOnceListener(event, () => sent.resolve(client.run("SELECT 2 AS two")));
    proxy.cut();
    assertEquals(await sent.promise, [{ two: 2 }], event);
    assertEquals(log.filter((line) => line.includes("no reply")), [], event);
  }
  await client.close();
});

Deno.test("a worker learns that its connection was lost", async () => {
  await using proxy = await TcpProxy.start(postgres.port);
  await using store = await openStore(postgres.url(await postgres.create(), proxy.port));
  const { losses } = store.workers;
  proxy.cut();
  await store.workers.list();
  assert(store.workers.losses > losses);
});

/** Accepts logins, and closes the connections before it is ready. */
class Closer implements AsyncDisposable {
  readonly #server = createServer();
  accepted = 0;

  static async start(tls?: { readonly key: string; readonly cert: string }): Promise<Closer> {
    const closer = new Closer();
    const authenticate = (socket: Socket | TLSSocket) => {
      socket.on("error", () => {});
      socket.once("data", () => socket.end(new Uint8Array([82, 0, 0, 0, 8, 0, 0, 0, 0])));
    };
    closer.#server.on("connection", (socket: Socket) => {
      closer.accepted++;
      if (tls === undefined) return authenticate(socket);
      socket.on("error", () => {});
      socket.once("data", () => {
        socket.write("S");
        authenticate(new TLSSocket(socket, { isServer: true, ...tls }));
      });
    });
    closer.#server.listen(0, "127.0.0.1");
    await once(closer.#server, "listening");
    return closer;
  }

  connect(parameters = ""): Promise<Client> {
    const { port } = this.#server.address() as AddressInfo;
    return Client.create(parseAddress(`postgres://postgres@127.0.0.1:${port}/postgres${parameters}`), { waitMs: 100 });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    await once(this.#server, "close");
  }
}

Deno.test("a connection that is closed during the login is reported", async () => {
  await using closer = await Closer.start();
  const client = await closer.connect();
  await assertRejects(() => client.run("SELECT 1"), StoreError, "closed the connection");
  await assertRejects(
    () => client.transaction("1 AS one", () => Promise.resolve()),
    StoreError,
    "closed the connection",
  );
  await client.close();
});

Deno.test("connections that are closed during the login are made with growing pauses over TLS, too", async () => {
  requireTool("openssl");
  const dir = await Deno.makeTempDir();
  const args = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"];
  const { success } = await new Deno.Command("openssl", {
    args: [...args, "-keyout", "key", "-out", "cert"],
    cwd: dir,
    stdout: "null",
    stderr: "null",
  }).output();
  assert(success);
  const [key, cert] = await Promise.all(["key", "cert"].map((name) => Deno.readTextFile(`${dir}/${name}`)));
  await Deno.remove(dir, { recursive: true });
  await using closer = await Closer.start({ key: key!, cert: cert! });
  const client = await closer.connect("?sslmode=require");
  const begun = performance.now();
  const failed = assertRejects(() => client.run("SELECT 1"), StoreError);
  await until(() => closer.accepted >= 9, () => "it connects nine times");
  // Eight pauses, or fewer if one of the connections was open for a second.
  assert(performance.now() - begun > 1_000);
  await client.close();
  await failed;
});
