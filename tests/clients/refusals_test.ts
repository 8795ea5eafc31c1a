/** Errors of refused requests name the cause: a wrong token is neither an unreachable server nor too many requests. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { newToken } from "../../src/web/auth/accounts.ts";
import { Bench } from "../support/bench.ts";
import { requireTool } from "../support/tools.ts";

const PROGRAMS = [["node", "refusals.mjs"], ["python3", "refusals.py"], ["ruby", "refusals.rb"]] as const;

interface Refusal {
  readonly code: string;
  readonly status: number;
  readonly message: string;
}

/** Returns the lines that a program prints. */
async function linesOf(runtime: string, args: readonly string[]): Promise<[Refusal[], string]> {
  requireTool(runtime);
  const { success, stdout, stderr } = await new Deno.Command(runtime, {
    args: [...args],
    signal: AbortSignal.timeout(120_000),
  }).output();
  const decoder = new TextDecoder();
  const errors = decoder.decode(stderr);
  assert(success, errors);
  return [decoder.decode(stdout).trim().split("\n").map((line) => JSON.parse(line)), errors];
}

for (const [runtime, file] of PROGRAMS) {
  const path = new URL(file, import.meta.url).pathname;

  Deno.test(`${file} reports that its token is wrong, also after too many attempts, and doesn't repeat them`, async () => {
    await using bench = await Bench.open();
    const worker = await bench.server(["--web", "0"], { JOBS_WEB_USERS: `ann:work:${newToken().secret}` });
    await using _worker = worker;
    const url = String((await worker.logged("Ready"))["web"]).replace(/\/$/, "");
    const [lines, errors] = await linesOf(runtime, [path, "push", url]);
    for (const { code, message } of lines) {
      assertEquals(code, "unauthenticated", message);
      assertMatch(message, /^Unknown token: it isn't one of this server's, or was replaced; jobs web --new-token /);
    }
    const pushed = lines.slice(0, -1).map(({ status }) => status);
    assertEquals([...new Set(pushed)], [401, 429], "some attempts are free");
    assertMatch(lines.at(-2)!.message, /; after too many failed logins, wait \d+ s before the next one$/);
    assert(!/not reached/.test(errors), errors);
  });

  Deno.test(`the worker ${file} logs a refused request as one, with its status`, async () => {
    const error = (status: number, code: string, message: string) =>
      Response.json({ error: { code, message } }, { status });
    let requests = 0;
    await using server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (request) => {
      await request.body?.cancel();
      return requests++ === 0
        ? error(503, "unavailable", "The store is unreachable")
        : error(401, "unauthenticated", "Unknown token");
    });
    const [[end], errors] = await linesOf(runtime, [path, "work", `http://127.0.0.1:${server.addr.port}`]);
    assertEquals(end, { code: "unauthenticated", status: 401, message: "Unknown token" });
    const logged = errors.trim().split("\n").map((line) => JSON.parse(line))
      .map(({ level, msg, status, error }) => ({ level, msg, status, error }));
    assertEquals(logged, [
      { level: "warn", msg: "Server refused a request, retrying", status: 503, error: "The store is unreachable" },
    ]);
  });
}
