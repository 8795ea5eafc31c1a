/** The clients in clients/: all do the same against a real worker with its API, each on one store, which a client can't see. */
import { assert, assertEquals } from "@std/assert";
import { newToken } from "../../src/web/auth/accounts.ts";
import { Bench } from "../support/bench.ts";
import { freePort, startRedis } from "../support/redis.ts";
import { requireTool } from "../support/tools.ts";

const HANDLERS = `
export const Add = (_ctx, a, b) => a + b;
Add.options = { result_ttl: "1h" };
`;

const EXPECTED = {
  result: ["succeeded", 5, "acme", "string"],
  idempotent: [false, true, true],
  pending: null,
  unique: ["conflict", 409, null],
  invalid: ["invalid", 422, "retry"],
  unknown: ["invalid", 422, "retrys"],
  bulk: [2_499, [7]],
  lost: true,
  unreachable: ["unreachable", null, null],
  // Refused before the server has read all of it.
  large: ["too_large", 413, null],
  forbidden: ["unauthenticated", 401, null],
  // Each once. The response to the first try of "Lost" was lost, and the second says that the job exists already.
  warned: ["Bulk", "Later", "Sync"],
};

/** Forwards requests, and loses the response to the first try of each. */
function losing(target: string) {
  const seen = new Set<string>();
  return Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (request) => {
    const { pathname, search } = new URL(request.url);
    const headers = new Headers(request.headers);
    headers.delete("host");
    const body = await request.text();
    const answer = await fetch(`${target}${pathname}${search}`, { method: request.method, headers, body });
    const key = request.headers.get("idempotency-key") ?? "";
    const text = await answer.text();
    if (seen.has(key)) return new Response(text, { status: answer.status });
    seen.add(key);
    return new Response("lost", { status: 502 });
  });
}

const DRIVERS = [
  { language: "Node", command: "node", driver: "driver.mjs", kind: "sqlite" },
  { language: "Python", command: "python3", driver: "driver.py", kind: "redis" },
  { language: "Ruby", command: "ruby", driver: "driver.rb", kind: "sqlite" },
];

for (const { language, command, driver, kind } of DRIVERS) {
  Deno.test(`the ${language} client passes the conformance run, on ${kind}`, async () => {
    requireTool(command);
    await using redis = kind === "redis" ? await startRedis() : undefined;
    await using bench = await Bench.open(redis?.url);
    const module = `${bench.folder}/handlers.js`;
    await Deno.writeTextFile(module, HANDLERS);
    const { token, secret } = newToken();
    const worker = await bench.server([module, "-q", "default", "--web", "0"], {
      JOBS_WEB_USERS: `ci:push:${secret}`,
    });
    await using _worker = worker;
    const url = String((await worker.logged("Ready"))["web"]).replace(/\/$/, "");
    await using flaky = losing(url);
    const { success, stdout, stderr } = await new Deno.Command(command, {
      args: [
        new URL(driver, import.meta.url).pathname,
        url,
        `http://127.0.0.1:${flaky.addr.port}`,
        `http://127.0.0.1:${freePort()}`,
      ],
      env: { TOKEN: token },
    }).output();
    const decoder = new TextDecoder();
    assert(success, decoder.decode(stderr));
    assertEquals(JSON.parse(decoder.decode(stdout)), EXPECTED, decoder.decode(stderr));
    const { queues, scheduled } = await bench.store.admin.stats();
    const sizes = Object.fromEntries(queues.map(({ name, size }) => [name, size]));
    assertEquals([sizes["bulk"], sizes["lost"], scheduled], [2_499, 1, 3]);
  });
}
