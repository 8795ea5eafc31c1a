/**
 * Slow lines to Redis: a large command or reply arrives, however long it takes.
 *
 * @module
 */
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { once } from "node:events";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { systemClock } from "../src/clock.ts";
import { Connection } from "../src/store/redis/client/connection.ts";
import { ConnectionLost } from "../src/store/redis/client/errors.ts";
import { until } from "./support/eventually.ts";

type Connect = (replyTimeoutMs: number, minBytesPerMs?: number) => Promise<[Connection, Socket]>;

/** Starts a server that replies to the greeting, and returns the accepted sockets. */
async function startServer(): Promise<{ server: Server; connect: Connect }> {
  const server = createServer((socket) => socket.once("data", () => socket.write("+OK\r\n")));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const endpoint = { host: "127.0.0.1", port: (server.address() as AddressInfo).port };
  const connect: Connect = async (replyTimeoutMs, minBytesPerMs) => {
    const accepted = once(server, "connection") as Promise<[Socket]>;
    const options = {
      endpoint,
      login: {},
      database: 0,
      name: "jobs:test",
      replyTimeoutMs,
      ...(minBytesPerMs !== undefined && { minBytesPerMs }),
    };
    const connection = await Connection.connect(options, new AbortController().signal);
    return [connection, (await accepted)[0]];
  };
  return { server, connect };
}

Deno.test("redis: a reply that arrives in pieces may take longer than the reply timeout", async () => {
  const { server, connect } = await startServer();
  const [connection, socket] = await connect(2_000);
  const answer = connection.send(["GET", "large"]);
  socket.write("$9\r\n");
  for (let i = 1; i <= 9; i++) {
    await systemClock.sleep(500);
    socket.write(`${i}`);
  }
  socket.write("\r\n");
  assertEquals(await answer, "123456789");
  connection.destroy();
  server.close();
});

Deno.test("redis: the reply timeout grows with the size of the command", async () => {
  const { server, connect } = await startServer();
  const [connection, socket] = await connect(50);
  socket.pause();
  const answer = connection.send(["SET", "large", "x".repeat(20_000_000)]);
  await systemClock.sleep(400);
  socket.resume();
  socket.write("+OK\r\n");
  assertEquals(await answer, "OK");

  await assertRejects(() => connection.send(["PING"]), ConnectionLost, "no reply for 50 ms");
  server.close();
});

Deno.test("redis: the extra time for a large command ends at that of 5 MB", async () => {
  const { server, connect } = await startServer();
  // At this rate, sending takes 262 ms for 5 MiB and 5 s for 100 MB.
  const [connection, socket] = await connect(50, 20_000);
  socket.pause();
  const error = await assertRejects(() => connection.send(["SET", "large", "x".repeat(100_000_000)]), ConnectionLost);
  const [, silentMs] = /^no reply for (\d+) ms$/.exec(error.message)!;
  assert(Number(silentMs) <= 350, error.message);
  socket.destroy();
  server.close();
});

Deno.test("redis: a server that receives slowly doesn't run into the reply timeout", async () => {
  const { server, connect } = await startServer();
  // Receiving takes some seconds. The timeout covers the pauses of a busy machine.
  const [connection, socket] = await connect(1_000, 20_000);
  let received = 0;
  const size = 30_000_000;
  const answer = connection.send(["SET", "large", "x".repeat(size)]);
  socket.on("data", (bytes: Uint8Array) => {
    received += bytes.length;
    if (received > size) return void socket.write("+OK\r\n");
    if (received % 7 !== 0) return;
    socket.pause();
    void systemClock.sleep(60).then(() => socket.resume());
  });
  assertEquals(await answer, "OK");
  connection.destroy();
  server.close();
});

Deno.test("redis: 50,000 pipelined commands get their own replies", async () => {
  const { server, connect } = await startServer();
  const [connection, socket] = await connect(60_000);
  const asked = Array.from({ length: 50_000 }, () => connection.send(["PING"]));
  socket.write(asked.map((_, i) => `:${i}\r\n`).slice(0, 30_001).join(""));
  const first = await Promise.all(asked.slice(0, 30_001));
  assertEquals(first.every((answer, i) => answer === i), true);
  connection.destroy();
  const rest = await Promise.allSettled(asked.slice(30_001));
  assertEquals(rest.length, 19_999);
  assertEquals(rest.every(({ status }) => status === "rejected"), true);
  server.close();
});

Deno.test("redis: a received reply isn't kept in memory while the next one is pending", async () => {
  const { server, connect } = await startServer();
  const [connection, socket] = await connect(60_000);
  const answer = `$1000000\r\n${"x".repeat(1_000_000)}\r\n`;
  let freed = 0;
  const registry = new FinalizationRegistry(() => freed++);
  let next = connection.send(["GET", "large"], true);
  for (let i = 0; i < 400; i++) {
    const asked = next;
    next = connection.send(["GET", "large"], true);
    socket.write(answer);
    registry.register(await asked as Uint8Array, undefined);
  }
  // The garbage collector runs when memory is allocated.
  await until(() => new Uint8Array(20_000_000).length > 0 && freed > 300, "300 of 400 answers are freed");
  socket.write(answer);
  await next;
  connection.destroy();
  server.close();
});
