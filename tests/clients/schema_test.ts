/** Schemas that a worker of another runtime registers. */
import { assertEquals, assertRejects } from "@std/assert";
import { InvalidPayload } from "../../src/job/errors.ts";
import { Bench } from "../support/bench.ts";
import { JobsProcess } from "../support/process.ts";
import { requireTool } from "../support/tools.ts";

const CLIENTS = new URL("../../clients/", import.meta.url).pathname;

const WORKERS = [
  {
    command: "node",
    file: "worker.mjs",
    text: `import { work } from "${CLIENTS}node/jobs_client.mjs";
const Mail = (_ctx, { email }) => email;
const email = { type: "string" };
// As zod and arktype make it.
Mail.options = { schema: [{ "~standard": {}, toJSONSchema: () => ({ type: "object", properties: { email } }) }] };
await work({ url: process.argv[2], handlers: { Mail } });`,
  },
  {
    command: "python3",
    file: "worker.py",
    text: `import sys
sys.path.insert(0, "${CLIENTS}python")
from jobs_client import Worker, job
@job(schema=[{"type": "object", "properties": {"email": {"type": "string"}}}])
def Mail(ctx, to): return to["email"]
Worker(sys.argv[1], handlers=[Mail]).run()`,
  },
];

async function gateway(bench: Bench): Promise<{ worker: JobsProcess; url: string }> {
  const worker = await bench.server(["--web", "0", "-q", "other"]);
  return { worker, url: String((await worker.logged("Ready"))["web"]).replace(/\/$/, "") };
}

for (const { command, file, text } of WORKERS) {
  Deno.test(`a schema of a worker in ${command} is checked at every push`, async () => {
    requireTool(command);
    await using bench = await Bench.open();
    const { worker, url } = await gateway(bench);
    await using _worker = worker;
    await Deno.writeTextFile(`${bench.folder}/${file}`, text);
    await using program = new JobsProcess({ store: bench.url, command: [command, `${bench.folder}/${file}`, url] });
    await program.logged("Started");
    const push = bench.client.push("Mail", [{ email: 5 }]);
    await assertRejects(() => push, InvalidPayload, "args[0].email is 5; expected string");
    const jid = await bench.push("Mail", [{ email: "a@b" }], { result_ttl: 60 });
    assertEquals((await bench.client.result(jid, { signal: AbortSignal.timeout(30_000) }))?.result, "a@b");
  });
}

Deno.test("a registration with an invalid schema is refused with its path, and declares nothing", async () => {
  await using bench = await Bench.open();
  const { worker, url } = await gateway(bench);
  await using _worker = worker;
  const body = JSON.stringify({
    ...{ protocol: 1, runtime: "x 1", client: "x 1", hostname: "box", pid: 7, nonce: "0123456789ab", concurrency: 1 },
    classes: { Mail: { schema: [{ properties: { email: { type: "strin" } } }] } },
  });
  const headers = { "content-type": "application/json" };
  const response = await fetch(`${url}/api/v1/work/register`, { method: "POST", headers, body });
  const { error } = await response.json();
  assertEquals([response.status, error.code, error.field, error.message.split(", number")[0]], [
    ...[422, "invalid", "classes"],
    'Options of class "Mail" in x 1, x 1: schema[0].properties.email.type is "strin"; expected string',
  ]);
  assertEquals(await bench.store.classes.read(["Mail"]), []);
});
