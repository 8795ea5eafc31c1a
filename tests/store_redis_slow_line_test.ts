/**
 * A slow line to Redis isn't a dead one: a large command or reply arrives, however long that takes.
 *
 * @module
 */
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { once } from "node:events";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { Connection, type ConnectOptions } from "../src/store/redis/client/connection.ts";
import { ConnectionLost } from "../src/store/redis/client/errors.ts";
import { FakeClock } from "./support/clock.ts";
import { until } from "./support/eventually.ts";
import { denoCommand, outputOf } from "../scripts/deno_command.ts";

type Connect = (options: Pick<ConnectOptions, "replyTimeoutMs" | "minBytesPerMs" | "clock">) => Promise<
  [Connection, Socket]
>;

/** The largest part of a command that the buffers of both systems hold together, with a margin. */
const SYSTEM_BUFFER_BYTES = 16_000_000;

/** Starts a server that replies to the greeting, and returns the accepted sockets. */
async function startServer(): Promise<{ server: Server; connect: Connect }> {
  const server = createServer(
    { noDelay: true },
    (socket) => socket.once("data", () => socket.write("+OK\r\n+PONG\r\n")),
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const endpoint = { host: "127.0.0.1", port: (server.address() as AddressInfo).port };
  const connect: Connect = async (options) => {
    const accepted = once(server, "connection") as Promise<[Socket]>;
    const all = { endpoint, login: {}, database: 0, name: "jobs:test", ...options };
    const connection = await Connection.connect(all, new AbortController().signal);
    return [connection, (await accepted)[0]];
  };
  return { server, connect };
}

Deno.test("redis: a reply that arrives in pieces may take longer than the reply timeout", async () => {
  const { server, connect } = await startServer();
  const clock = new FakeClock();
  const [connection, socket] = await connect({ replyTimeoutMs: 2_000, clock });
  const [probe, probed] = await connect({ replyTimeoutMs: 60_000 });
  probed.on("data", () => probed.write("+PONG\r\n"));
  const answer = connection.send(["GET", "large"]);
  socket.write("$9\r\n");
  for (let i = 1; i <= 9; i++) {
    socket.write(`${i}`);
    // Bytes written before a round trip on another connection are read before its end.
    for (let trip = 0; trip < 3; trip++) await probe.send(["PING"]);
    await clock.advance(2_000);
  }
  socket.write("\r\n");
  assertEquals(await answer, "123456789");
  for (const one of [connection, probe]) one.destroy();
  server.close();
});

Deno.test("redis: the reply timeout grows with the size of the command", async () => {
  const { server, connect } = await startServer();
  const clock = new FakeClock();
  const [connection, socket] = await connect({ replyTimeoutMs: 50, clock });
  socket.pause();
  const answer = connection.send(["SET", "large", "x".repeat(20_000_000)]);
  await clock.advance(1_000);
  socket.resume();
  socket.write("+OK\r\n");
  assertEquals(await answer, "OK");

  await clock.advance(50); // the end of the interval in which the reply arrived
  const lost = assertRejects(() => connection.send(["PING"]), ConnectionLost, "no reply for 50 ms");
  await clock.advance(50);
  await lost;
  server.close();
});

Deno.test("redis: the extra time for a large command ends at that of 5 MB", async () => {
  const { server, connect } = await startServer();
  const clock = new FakeClock();
  // At this rate, sending takes 262 ms for 5 MiB and 5 s for 100 MB.
  const [connection, socket] = await connect({ replyTimeoutMs: 50, minBytesPerMs: 20_000, clock });
  socket.pause();
  let lost: Error | undefined;
  const sent = connection.send(["SET", "large", "x".repeat(100_000_000)]).catch((error) => lost = error);
  await until(async () => {
    await clock.advance(50);
    return lost !== undefined;
  }, "the connection is closed");
  await sent;
  assert(lost instanceof ConnectionLost);
  const [, silentMs] = /^no reply for (\d+) ms$/.exec(lost.message)!;
  assert(Number(silentMs) <= 350, lost.message);
  socket.destroy();
  server.close();
});

Deno.test("redis: a server that receives slowly doesn't run into the reply timeout", async () => {
  const { server, connect } = await startServer();
  const clock = new FakeClock();
  const [connection, socket] = await connect({ replyTimeoutMs: 1_000, minBytesPerMs: 20_000, clock });
  const size = 100_000_000;
  let received = 0;
  let pauseAt = 0;
  socket.on("data", (bytes: Uint8Array) => {
    if ((received += bytes.length) >= pauseAt) socket.pause();
  });
  const answer = connection.send(["SET", "large", "x".repeat(size)]);
  while (pauseAt + 2 * SYSTEM_BUFFER_BYTES < size) {
    // More than the buffers hold: some of it was sent since the last timeout.
    pauseAt += SYSTEM_BUFFER_BYTES;
    socket.resume();
    await until(() => received >= pauseAt);
    await clock.advance(1_000);
  }
  pauseAt = Infinity;
  socket.resume();
  await until(() => received > size);
  socket.write("+OK\r\n");
  assertEquals(await answer, "OK");
  connection.destroy();
  server.close();
});

Deno.test("redis: 50,000 pipelined commands each get the reply that belongs to them", async () => {
  const { server, connect } = await startServer();
  const [connection, socket] = await connect({ replyTimeoutMs: 60_000 });
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
  const script = `
    import { createServer } from "node:net";
    import { Connection } from "${import.meta.resolve("../src/store/redis/client/connection.ts")}";
    const server = createServer((socket) => {
      socket.once("data", () => {
        socket.write("+OK\\r\\n+PONG\\r\\n");
        const reply = "$1000000\\r\\n" + "x".repeat(1_000_000) + "\\r\\n";
        socket.on("data", (bytes) => {
          for (const _ of String(bytes).matchAll(/LARGE/g)) socket.write(reply);
        });
      });
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    const options = {
      endpoint: { host: "127.0.0.1", port: server.address().port },
      login: {}, database: 0, name: "jobs:test", replyTimeoutMs: 60_000,
    };
    const connection = await Connection.connect(options, new AbortController().signal);
    const replies = [];
    let next = connection.send(["GET", "LARGE"], { bytes: true });
    for (let i = 0; i < 400; i++) {
      const received = next;
      next = connection.send(["GET", "LARGE"], { bytes: true });
      replies.push(new WeakRef(await received));
    }
    const pending = connection.send(["GET", "never"]);
    pending.catch(() => {});
    await next;
    for (let i = 0; i < 10; i++) await new Promise((resolve) => setTimeout(resolve)).then(gc);
    console.log(replies.length, replies.filter((one) => one.deref() !== undefined).length);
    Deno.exit();
  `;
  const { stdout, stderr } = await outputOf(denoCommand("eval", "--v8-flags=--expose-gc", script));
  const [all, left] = stdout.split(" ").map(Number);
  assertEquals(all, 400, stderr);
  assert(left! < 10, `${left} are left`);
});
