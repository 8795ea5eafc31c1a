/** Workers of the clients at gateways that refuse, fail and cut off their replies. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { freePort } from "../support/redis.ts";
import { requireTool } from "../support/tools.ts";
import { type Asked, cut, given, refused, type ScriptedGateway, scriptedGateway } from "./scripted_gateway.ts";

const LANGUAGES = [["Node", "node", "mjs"], ["Python", "python3", "py"], ["Ruby", "ruby", "rb"]] as const;
/** As the server has it. */
const MAX_REQUEST_BYTES = 3 * 1024 * 1024;

/** Runs the worker of a language until it ends by itself, and returns what it has written. */
async function work(language: string, url: string, ...args: string[]): Promise<string> {
  const [, command, end] = LANGUAGES.find(([name]) => name === language)!;
  requireTool(command);
  const { success, stdout, stderr } = await new Deno.Command(command, {
    args: [new URL(`rough_gateway.${end}`, import.meta.url).pathname, url, ...args],
    signal: AbortSignal.timeout(30_000),
  }).output();
  const text = new TextDecoder().decode(stderr);
  assert(success, text);
  return new TextDecoder().decode(stdout) + text;
}

for (const [language] of LANGUAGES) {
  Deno.test(`a worker in ${language} waits for less long after a proxy has given up its request for jobs`, async () => {
    const waits: unknown[] = [];
    await using gateway = scriptedGateway({
      heartbeatMs: 600_000,
      replies: {
        take: ({ take, wait }) =>
          waits.push([take, wait]) < 3 ? refused(504) : { jobs: [], quiet: false, stopping: waits.length > 3 },
      },
    });
    await work(language, gateway.url);
    assertEquals(waits, [[1, 25], [1, 12.5], [1, 6.25], [2, 6.25]]);
  });

  Deno.test(`a worker in ${language} ends after one reply that stops it`, async () => {
    // Its next heartbeat comes after the test.
    await using gateway = scriptedGateway({
      heartbeatMs: 600_000,
      replies: { take: () => ({ jobs: [], quiet: false, stopping: true }) },
    });
    await work(language, gateway.url);
    assertEquals(gateway.asked.get("take"), 1);
  });

  Deno.test(`a worker in ${language} stops although its server doesn't store the ends of jobs`, async () => {
    const outputs = ["refuses", "doesn't answer"].map(async (how) => {
      const late = Promise.withResolvers<void>();
      await using gateway: ScriptedGateway = scriptedGateway({
        jobs: [given("Echo", "echo")],
        replies: {
          settle() {
            gateway.finish();
            return how === "refuses" ? refused(503) : late.promise;
          },
        },
      });
      return await work(language, gateway.url, "hurried").finally(late.resolve);
    });
    for (const output of await Promise.all(outputs)) {
      assertStringIncludes(output, "Stopped before the server stored the ends of 1 jobs: they run again");
    }
  });

  Deno.test(`a worker in ${language} stops although its server doesn't answer`, async () => {
    const late = Promise.withResolvers<void>();
    await using gateway = scriptedGateway({ replies: { deregister: () => late.promise } });
    gateway.finish();
    assertStringIncludes(await work(language, gateway.url).finally(late.resolve), "Stopped");
  });

  Deno.test(`a worker in ${language} sends the lines of chatty jobs in several heartbeats`, async () => {
    const file = await Deno.makeTempFile();
    const jobs = Array.from({ length: 16 }, (_, i) => given("Chatty", `chatty-${i}`, [file]));
    let lines = 0;
    let isTooLarge = false;
    await using gateway: ScriptedGateway = scriptedGateway({
      jobs,
      replies: {
        heartbeat({ running = [] }, text) {
          isTooLarge ||= new TextEncoder().encode(text).length > MAX_REQUEST_BYTES;
          for (const { log = [] } of running) lines += log.length;
          if (lines === 200 * jobs.length || isTooLarge) end(gateway, file);
        },
      },
    });
    await work(language, gateway.url);
    assertEquals([lines, isTooLarge], [200 * jobs.length, false]);
  });

  Deno.test(`a worker in ${language} sends a heartbeat without the reports that the server refuses`, async () => {
    const file = await Deno.makeTempFile();
    let isRefused = false;
    await using gateway: ScriptedGateway = scriptedGateway({
      jobs: [given("Chatty", "chatty", [file])],
      replies: {
        heartbeat({ running = [] }) {
          const logs = running.some(({ log }) => log);
          if (isRefused && !logs) end(gateway, file);
          isRefused ||= logs;
          if (logs) return refused(413, "too much");
        },
      },
    });
    assertStringIncludes(await work(language, gateway.url), "too much");
  });

  Deno.test(`all parts of a worker in ${language} end with the one that fails`, async () => {
    await using gateway = scriptedGateway({
      jobs: [given("Echo", "echo")],
      replies: { settle: () => refused(400, "no end is right") },
    });
    // The program ends when nothing is left to do.
    assertStringIncludes(await work(language, gateway.url), "no end is right");
  });
}

/** Starts a proxy that closes a connection after each reply, without a word. */
async function closingProxy(target: string) {
  const handle = async (request: IncomingMessage) => {
    const body = await new Response(Readable.toWeb(request) as ReadableStream).text();
    const reply = await (await fetch(target + request.url, { method: "POST", body })).text();
    const { length } = new TextEncoder().encode(reply);
    request.socket.end(`HTTP/1.1 200 OK\r\ncontent-length: ${length}\r\n\r\n${reply}`);
  };
  const server = createServer((request, response) => void handle(request).catch(() => response.destroy()));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** Ends the jobs, which wait while there is a file, and then the worker. */
function end(gateway: ScriptedGateway, file: string): void {
  gateway.finish();
  Deno.removeSync(file);
}

Deno.test("a worker in Python connects again after a proxy has closed an idle connection", async () => {
  await using gateway = scriptedGateway({});
  await using proxy = await closingProxy(gateway.url);
  // It sends two heartbeats.
  await work("Python", proxy.url, "idle");
  assertEquals(gateway.asked.get("heartbeat"), 2);
});

Deno.test("a worker in Python that has ended sends no request that it was about to send", async () => {
  await using gateway = scriptedGateway({});
  assertStringIncludes(await work("Python", gateway.url, "ended"), "the worker has ended");
  assertEquals(gateway.asked.get("take"), undefined);
});

Deno.test("a worker in Python reaches its server after an outage of more than a thousand attempts", async () => {
  // Each attempt waits up to 5 s, so that this takes an hour; the program replaces what is chosen by chance with 0.
  const port = freePort();
  const refusing = Deno.listen({ port, hostname: "127.0.0.1" });
  let attempts = 0;
  const refusals = (async () => {
    for await (const connection of refusing) {
      connection.close();
      if (++attempts === 1_100) return;
    }
  })();
  const ended = work("Python", `http://127.0.0.1:${port}`, "hasty");
  await Promise.race([refusals, ended]);
  assertEquals(attempts, 1_100);
  await using gateway = scriptedGateway({ port });
  gateway.finish();
  assertStringIncludes(await ended, "Stopped");
});

Deno.test("a worker in Python ends a coroutine that is aborted while it begins", async () => {
  let ends: Asked["outcomes"];
  await using gateway: ScriptedGateway = scriptedGateway({
    jobs: [given("Coroutine", "aborted")],
    replies: {
      heartbeat({ running = [] }) {
        const aborted = running.map(({ token }) => ({ token, reason: "Cancelled" }));
        if (aborted.length > 0) return { aborted, lost: [], quiet: false, stopping: false };
      },
      settle({ outcomes }) {
        ends = outcomes;
        gateway.finish();
      },
    },
  });
  await work("Python", gateway.url, "late");
  assertEquals(ends?.map(({ end, error }) => [end, error?.message]), [["failed", "The job was cancelled"]]);
});

Deno.test("a worker in Node sends heartbeats for a job that holds its loop, also after a reply was cut off", async () => {
  const file = await Deno.makeTempFile();
  let beats = 0;
  await using gateway = scriptedGateway({
    jobs: [given("Blocks", "blocks", [file])],
    replies: {
      async heartbeat({ running }) {
        // Those of the thread have no list.
        if (running !== undefined) return undefined;
        if (++beats === 3) await Deno.remove(file);
        return beats < 3 ? cut() : undefined;
      },
      settle: () => gateway.finish(),
    },
  });
  await work("Node", gateway.url);
});

Deno.test("a worker in Node without a shutdown timeout waits for its jobs", async () => {
  const file = await Deno.makeTempFile();
  const ends: string[] = [];
  let beats = 0;
  await using gateway: ScriptedGateway = scriptedGateway({
    jobs: [given("Waits", "waits", [file])],
    replies: {
      async heartbeat({ running = [] }) {
        // Some come after the one that stops it.
        if (running.length > 0) gateway.finish();
        if (++beats === 4) await Deno.remove(file);
      },
      settle: ({ outcomes = [] }) => void ends.push(...outcomes.map(({ end }) => end)),
    },
  });
  await work("Node", gateway.url);
  assertEquals(ends, ["succeeded"]);
});
