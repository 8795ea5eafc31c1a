/**
 * Connections to Redis, and the errors when a server can't be used.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { openStore } from "../src/store/open.ts";
import { Connection } from "../src/store/redis/client/connection.ts";
import { Unsendable } from "../src/store/redis/client/errors.ts";
import { until } from "./support/eventually.ts";
import { freePort, startRedis } from "./support/redis.ts";
import { requireTool } from "./support/tools.ts";
import { job, workerRecord } from "./store_contract/jobs.ts";
import { collectLog, fails } from "./support/store_errors.ts";

/** Asserts that the store at `url` opens and accepts a job. */
async function works(url: string): Promise<void> {
  await using store = await openStore(url);
  assertEquals(await store.jobs.enqueue([job(1)]), [{ kind: "stored" }]);
  assertEquals((await store.admin.stats()).enqueued, 1);
}

Deno.test("redis: logs in with a password, and with a user", async () => {
  await using redis = await startRedis({ config: { requirepass: "s3cret" } });
  const at = `127.0.0.1:${redis.port}`;
  await works(`redis://:s3cret@${at}`);
  await redis.cli("-a", "s3cret", "ACL", "SETUSER", "bob", "on", ">s3cret", "~*", "&*", "+@all");
  await redis.cli("-a", "s3cret", "FLUSHALL");
  await works(`redis://bob:s3cret@${at}`);
  await fails(() => openStore(`redis://${at}`), "denied", "requires a password", `redis://${at}`);
  await fails(() => openStore(`redis://bob:nonsense@${at}`), "denied", "rejected this user or password");
  {
    await using store = await openStore(`redis://bob:s3cret@${at}/1`);
    assertEquals(store.url, `redis://bob@${at}/1`);
  }
  await redis.cli("-a", "s3cret", "ACL", "SETUSER", "eve", "on", ">s3cret", "~queue:*", "+@all");
  await fails(() => openStore(`redis://eve:s3cret@${at}`), "denied", "denied the command to this user");
  await redis.cli("-a", "s3cret", "ACL", "SETUSER", "mallory", "on", ">s3cret", "~*", "&*", "+@all", "-lpush");
  await using store = await openStore(`redis://mallory:s3cret@${at}`);
  await fails(() => store.jobs.enqueue([job(2)]), "denied", "denied the command to this user");
});

Deno.test("redis: a take that overtakes the reconciliation after a broken connection keeps its leases", async () => {
  await using redis = await startRedis();
  await using store = await openStore(redis.url);
  await store.jobs.enqueue([job(1), job(2)]);
  const take = () => store.jobs.take({ queues: ["default"], limit: 1, worker: "host:1:a" });
  await take();
  await redis.cli("CLIENT", "KILL", "TYPE", "normal");
  await store.admin.stats();
  // The server knows the script of takes. That of the reconciliation is sent a second time, with its text.
  const leases = (await Promise.all([take(), take()])).flat();
  assertEquals(leases.length, 1);
  assertEquals((await store.jobs.stillLeased("host:1:a")).length, 2);
});

Deno.test("redis: a user without the permission to publish can push", async () => {
  await using redis = await startRedis();
  await redis.cli("ACL", "SETUSER", "bob", "on", ">s3cret", "~*", "resetchannels", "+@all");
  await using store = await openStore(`redis://bob:s3cret@127.0.0.1:${redis.port}`);
  assertEquals(await store.jobs.enqueue([job(1, { delayMs: 60_000 })]), [{ kind: "stored" }]);
  await store.admin.configure("default", { pause: false });
});

Deno.test("redis: works without the commands that managed services rename or deny", async () => {
  const denied =
    "CONFIG INFO CLIENT KEYS FLUSHALL FLUSHDB SWAPDB DEBUG MONITOR SHUTDOWN SAVE BGSAVE BGREWRITEAOF SCRIPT " +
    "REPLICAOF SLAVEOF SYNC PSYNC ACL ROLE COMMAND OBJECT MEMORY LATENCY SLOWLOG MODULE WAIT SORT MIGRATE DUMP RESTORE MOVE LASTSAVE";
  await using redis = await startRedis({ renamed: denied.split(" ") });
  await works(redis.url);
  await using store = await openStore(redis.url);
  await store.workers.heartbeat(workerRecord("h:1:a"), 60_000);
  const leases = await store.jobs.take({ queues: ["default"], limit: 1, worker: "h:1:a" });
  await store.jobs.settle("h:1:a", [{ kind: "ack", token: leases[0]!.token }]);
  assertEquals((await store.admin.stats()).processed, 1);
  const { version, durability, findings } = await store.admin.health();
  assertEquals({ version, durability, findings }, {
    version: "Redis (version unknown: INFO is denied)",
    durability: undefined,
    findings: [],
  });
});

Deno.test("redis: selects a database by its number", async () => {
  await using redis = await startRedis();
  await works(`redis://127.0.0.1:${redis.port}/3`);
  assertEquals(await redis.cli("-n", "3", "LLEN", "queue:default"), "1");
  assertEquals(await redis.cli("DBSIZE"), "0");
  await fails(() => openStore(`redis://127.0.0.1:${redis.port}/99`), "wrong", "no database of this number");
});

Deno.test("redis: connects to a Unix socket", async () => {
  const socket = `${await Deno.makeTempDir()}/redis.sock`;
  {
    await using redis = await startRedis({ config: { unixsocket: socket } });
    await works(`redis+unix:${socket}?db=1`);
    assertEquals(await redis.cli("-n", "1", "LLEN", "queue:default"), "1");
  }
  await fails(() => openStore(`redis+unix:${socket}`, { waitMs: 50 }), "unavailable", socket);
  await Deno.remove(socket.replace(/\/[^/]*$/, ""), { recursive: true });
});

Deno.test("redis: connects over TLS with a private certificate authority", async () => {
  requireTool("openssl");
  const dir = await Deno.makeTempDir();
  const ca = `${dir}/ca.pem`;
  const openssl = async (...args: string[]) => {
    const { success, stderr } = await new Deno.Command("openssl", { args, cwd: dir, stdout: "null" }).output();
    assert(success, new TextDecoder().decode(stderr));
  };
  await openssl(
    "req",
    "-x509",
    "-newkey",
    "rsa:2048",
    "-nodes",
    "-days",
    "1",
    "-subj",
    "/CN=ca",
    "-keyout",
    "ca.key",
    "-out",
    ca,
  );
  await openssl(
    "req",
    "-newkey",
    "rsa:2048",
    "-nodes",
    "-subj",
    "/CN=localhost",
    "-keyout",
    "redis.key",
    "-out",
    "redis.csr",
  );
  await Deno.writeTextFile(`${dir}/ext`, "subjectAltName=DNS:localhost,IP:127.0.0.1\n");
  await openssl(
    "x509",
    "-req",
    "-in",
    "redis.csr",
    "-CA",
    ca,
    "-CAkey",
    "ca.key",
    "-CAcreateserial",
    "-days",
    "1",
    "-extfile",
    "ext",
    "-out",
    "redis.pem",
  );
  const port = freePort();
  const config = {
    "tls-port": `${port}`,
    "tls-cert-file": `${dir}/redis.pem`,
    "tls-key-file": `${dir}/redis.key`,
    "tls-ca-cert-file": ca,
    "tls-auth-clients": "no",
  };
  {
    await using redis = await startRedis({ config });
    await works(`rediss://localhost:${port}?ca=${ca}`);
    await redis.cli("FLUSHALL");
    await works(`rediss://127.0.0.1:${port}?ca=${ca}`);
    const brief = { waitMs: 2_000 };
    await fails(() => openStore(`rediss://localhost:${port}`, brief), "unavailable", "; add ?ca=FILE");
    await fails(
      () => openStore(`redis://localhost:${port}`, brief),
      "unavailable",
      "if the port expects TLS, use rediss://",
    );
    await fails(
      () => openStore(`rediss://localhost:${port}?ca=${dir}/none.pem`),
      "wrong",
      "cannot be read",
      "none.pem",
    );
  }
  await Deno.remove(dir, { recursive: true });
});

Deno.test("redis: opening fails after waitMs if no server listens", async () => {
  const url = `redis://127.0.0.1:${freePort()}`;
  await fails(() => openStore(url, { waitMs: 100 }), "unavailable", "cannot be reached", url);
});

Deno.test("redis: opening fails with the reason if the server isn't a Redis", async () => {
  const answers = { "Unknown RESP type": "<html>", "unexpected reply": "+OK\r\n".repeat(3), "it closed": "" };
  for (const [why, answer] of Object.entries(answers)) {
    const server = createServer((socket) => {
      // The store may close the connection before it has read the response.
      socket.on("error", () => {});
      socket.once("data", () => answer ? socket.write(answer) : socket.end());
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const url = `redis://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await fails(() => openStore(url, { waitMs: 500 }), "unavailable", "cannot be reached", url, why);
    await new Promise((resolve) => server.close(resolve));
  }
});

Deno.test("redis: refuses keys of another program, and warns of a server that may delete jobs", async () => {
  await using redis = await startRedis();
  await redis.cli("SET", "retry", "x");
  await fails(() => openStore(redis.url), "wrong", 'key "retry" of type string', "choose another number");
  await redis.cli("DEL", "retry");
  await redis.cli("SET", "queue:default", "x");
  await using store = await openStore(redis.url);
  const mixed = Promise.allSettled([store.jobs.enqueue([job(1)]), store.jobs.enqueue([job(2, { queue: "mail" })])]);
  const [bad, good] = await mixed;
  assertEquals([bad.status, good.status], ["rejected", "fulfilled"]);
  await fails(() => store.jobs.enqueue([job(1, { queue: "mail" }), job(2)]), "wrong", "value of another type");
  assertEquals(await redis.cli("LLEN", "queue:mail"), "1");

  await redis.cli("CONFIG", "SET", "maxmemory-policy", "allkeys-lru");
  const { lines, log } = collectLog();
  await using _again = await openStore(redis.url, { log });
  assertEquals(lines.length, 1);
  assertStringIncludes(lines[0]!, "warn: Redis at");
  assertStringIncludes(lines[0]!, 'its maxmemory-policy is "allkeys-lru", set it to "noeviction"');
});

Deno.test("redis: refuses a server in cluster mode", async () => {
  await using redis = await startRedis({ config: { "cluster-enabled": "yes", "cluster-port": `${freePort()}` } });
  await fails(() => openStore(redis.url), "wrong", "runs in cluster mode", "Sentinel");
  await redis.cli("ACL", "SETUSER", "bob", "on", ">s3cret", "~*", "&*", "+@all", "-info");
  await redis.cli("CLUSTER", "ADDSLOTSRANGE", "0", "16383");
  await until(async () => (await redis.cli("CLUSTER", "INFO")).includes("cluster_state:ok"));
  await using store = await openStore(`redis://bob:s3cret@127.0.0.1:${redis.port}`);
  await fails(() => store.jobs.enqueue([job(1)]), "wrong", "runs in cluster mode", "Sentinel");
});

Deno.test("redis: refuses Valkey in cluster mode, which reports it under another name", async () => {
  await using valkey = fakeServer("redis_version:7.2.4\r\nserver_name:valkey\r\nserver_mode:cluster\r\n");
  await fails(() => openStore(valkey.url), "wrong", "runs in cluster mode", "Sentinel");
});

Deno.test("redis: refuses a server that is too old", async () => {
  await using old = fakeServer("redis_version:6.2.14\r\nredis_mode:standalone\r\n");
  await fails(() => openStore(old.url), "wrong", "too old", "7.0", "6.2.14");
});

Deno.test("redis: a server without memory rejects pushes as a whole, and workers continue", async () => {
  await using redis = await startRedis();
  await using store = await openStore(redis.url);
  await store.workers.heartbeat({ ...(await import("./store_contract/jobs.ts")).workerRecord("h:1:a") }, 60_000);
  await store.jobs.enqueue([job(1), job(2)]);
  const leases = await store.jobs.take({ queues: ["default"], limit: 1, worker: "h:1:a" });
  await redis.cli("CONFIG", "SET", "maxmemory", "1mb");
  await fails(() => store.jobs.enqueue([job(3), job(4, { delayMs: 1_000 })]), "full", "no memory left", "maxmemory");
  assertEquals(
    await store.jobs.settle("h:1:a", [{
      kind: "retry",
      token: leases[0]!.token,
      delayMs: 1_000,
      payload: leases[0]!.payload,
    }]),
    { lost: [], dropped: 0 },
  );
  const [next] = await store.jobs.take({ queues: ["default"], limit: 1, worker: "h:1:a" });
  await store.jobs.settle("h:1:a", [{ kind: "ack", token: next!.token }]);
  const { enqueued, scheduled, retry, running } = await store.admin.stats();
  assertEquals({ enqueued, scheduled, retry, running }, { enqueued: 0, scheduled: 0, retry: 1, running: 0 });
});

Deno.test("redis: an outage logs one line at its start and one at its end, and calls wait meanwhile", async () => {
  await using redis = await startRedis({ aof: "always" });
  const { lines, log } = collectLog();
  await using store = await openStore(redis.url, { log });
  await store.jobs.enqueue([job(1)]);
  await redis.kill();
  await until(() => lines.length === 1);
  assertStringIncludes(lines[0]!, `warn: Connection to Redis at "${redis.url}" lost, reconnecting: `);
  const waiting = store.jobs.enqueue([job(2)]);
  await redis.start();
  assertEquals(await waiting, [{ kind: "stored" }]);
  assertEquals((await store.admin.stats()).enqueued, 2);
  assertEquals(lines.length, 2);
  assert(/^info: Connection to Redis at ".*" is back after \d+\.\d s$/.test(lines[1]!), lines[1]);
});

Deno.test("redis: a call fails in an outage longer than waitMs, and later calls succeed", async () => {
  await using redis = await startRedis({ aof: "always" });
  await using store = await openStore(redis.url, { waitMs: 2_000 });
  await redis.kill();
  await fails(() => store.jobs.enqueue([job(1)]), "unavailable", "cannot be reached", redis.url);
  await fails(() => store.jobs.take({ queues: ["default"], limit: 1, worker: "h:1:a" }), "unavailable");
  await redis.start();
  await until(async () => (await store.jobs.enqueue([job(2)]).catch(() => undefined)) !== undefined);
});

Deno.test("redis: calls wait for a server that loads its data", async () => {
  await using redis = await startRedis({ aof: "always", config: { "key-load-delay": "10000" } });
  await redis.cli("CONFIG", "SET", "key-load-delay", "0");
  await using store = await openStore(redis.url);
  for (let i = 0; i < 200; i++) await store.jobs.enqueue([job(i, { queue: `q${i}` })]);
  await redis.cli("BGREWRITEAOF");
  await until(async () => (await redis.cli("INFO", "persistence")).includes("aof_rewrite_in_progress:0"));
  await redis.kill();
  await redis.start();
  assertStringIncludes(await redis.cli("PING").catch((error: Error) => error.message), "LOADING");
  assertEquals((await store.admin.stats()).enqueued, 200);
});

Deno.test("redis: a server that accepts a login and still loads its data is asked again", async () => {
  const replies = ["-LOADING Redis is loading the dataset in memory", "-MASTERDOWN Link with MASTER is down", "+PONG"];
  await using loading = fakeServer("redis_version:7.0.15\r\n", () => replies.shift() ?? "+PONG");
  await using _store = await openStore(loading.url);
  assertEquals(replies, []);
});

/** Starts a server that only replies to HELLO, INFO and PING. */
function fakeServer(info: string, pong = () => "+PONG"): { url: string } & AsyncDisposable {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const serving = (async () => {
    for await (const connection of listener) {
      const buffer = new Uint8Array(4096);
      for (;;) {
        const count = await connection.read(buffer);
        if (count === null) break;
        const answers = new TextDecoder().decode(buffer.subarray(0, count)).split(/(?=\*\d+\r\n)/).map((command) =>
          command.includes("HELLO")
            ? "%1\r\n$5\r\nproto\r\n:3\r\n"
            : command.includes("INFO")
            ? `$${info.length}\r\n${info}\r\n`
            : command.includes("PING")
            ? `${pong()}\r\n`
            : "+none\r\n"
        );
        await connection.write(new TextEncoder().encode(answers.join("")));
      }
      connection.close();
    }
  })().catch(() => {});
  return {
    url: `redis://127.0.0.1:${listener.addr.port}`,
    async [Symbol.asyncDispose]() {
      listener.close();
      await serving;
    },
  };
}

Deno.test("redis: sends no part of a command that can't be encoded, and the commands around it succeed", async () => {
  await using redis = await startRedis();
  const endpoint = { host: "127.0.0.1", port: redis.port };
  const options = { endpoint, login: {}, database: 0, name: "jobs:test", replyTimeoutMs: 5_000 };
  const connection = await Connection.connect(options, new AbortController().signal);
  const before = connection.send(["SET", "a", "1"]);
  const wrong = assertRejects(
    () => connection.send(["SET", Buffer.from("b"), undefined as never]),
    Unsendable,
    "undefined",
  );
  const after = connection.send(["GET", "a"]);
  await wrong;
  assertEquals([await before, await after], ["OK", "1"]);
  connection.destroy();
});

Deno.test("redis: a call that is too large fails permanently, and the calls sent with it succeed", async () => {
  await using redis = await startRedis();
  await using store = await openStore(redis.url);
  // Longer than V8's longest string.
  const payload = `{"class":"HardJob","args":["${"x".repeat(1_000_000)}"]}`;
  const tooLarge = Array.from({ length: 600 }, (_, i) => job(i, { payload }));
  const pushes = Promise.all([
    store.jobs.enqueue([job(1_000)]),
    fails(() => store.jobs.enqueue(tooLarge), "large", "601 MB", "at most 537 MB", "fewer or smaller jobs"),
    store.jobs.enqueue([job(1_001)]),
  ]);
  const [before, , after] = await pushes;
  assertEquals([before, after], [[{ kind: "stored" }], [{ kind: "stored" }]]);
  assertEquals((await store.admin.stats()).enqueued, 2);
});

Deno.test("redis: a large command arrives complete, and in order with small ones", async () => {
  await using redis = await startRedis();
  const endpoint = { host: "127.0.0.1", port: redis.port };
  const options = { endpoint, login: {}, database: 0, name: "jobs:test", replyTimeoutMs: 5_000 };
  const connection = await Connection.connect(options, new AbortController().signal);
  const text = "aé😀\r\n".repeat(500_000);
  const bytes = Buffer.from(text);
  const answers = await Promise.all([
    connection.send(["SET", "n", "1"]),
    connection.send(["SET", "text", text]),
    connection.send(["INCR", "n"]),
    connection.send(["SET", "bytes", bytes]),
    connection.send(["INCR", "n"]),
    connection.send(["GET", "text"]),
    connection.send(["GET", "bytes"], { bytes: true }),
  ]);
  assertEquals(answers.slice(0, 5), ["OK", "OK", 2, "OK", 3]);
  assert(answers[5] === text && bytes.equals(answers[6] as Buffer));
  connection.destroy();
});

Deno.test("redis: a command to write at once is sent in its turn, with those before it", async () => {
  await using redis = await startRedis();
  const endpoint = { host: "127.0.0.1", port: redis.port };
  const options = { endpoint, login: {}, database: 0, name: "jobs:test", replyTimeoutMs: 5_000 };
  const connection = await Connection.connect(options, new AbortController().signal);
  const replies = Promise.all([
    connection.send(["INCR", "n"]),
    connection.send(["INCR", "n"], { atOnce: true }),
  ]);
  // Writes follow in a microtask. The next turn can't begin while this process waits for another one.
  for (let i = 0; i < 10; i++) await Promise.resolve();
  const args = ["-p", `${redis.port}`, "GET", "n"];
  const { stdout } = new Deno.Command("redis-cli", { args, stdin: "null" }).outputSync();
  assertEquals(new TextDecoder().decode(stdout).trim(), "2");
  assertEquals(await replies, [1, 2]);
  connection.destroy();
});
