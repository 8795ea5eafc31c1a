/** The library as `make library` makes it, used by programs in another folder without any configuration. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { denoCommand, offlineDeno, outputOf } from "../../scripts/deno_command.ts";
import { runHere } from "../support/command.ts";
import { JobsProcess, temporaryFolder } from "../support/process.ts";
import { startRedis } from "../support/redis.ts";
import { blocksOf } from "../support/page_runner.ts";
import { requireTool } from "../support/tools.ts";

const library = new URL("../../dist/test/library/", import.meta.url).pathname;
const [deno, ...make] = denoCommand("run", "-A", "scripts/library.ts", "--output", library);
await runHere(deno, make);

/** Pushes and performs. Heartbeats come from a thread, whose module is a separate file. */
const PROGRAM = `
import { defineJob, startServer } from "./library/jobs.js";

const Welcome = defineJob("Welcome", (ctx, name: string, times: number) => {
  ctx.log.info("Welcoming", { name });
  return name.repeat(times);
}, { queue: "mail", result_ttl: 60 });

const beats = [0, 0, 0].map(() => Promise.withResolvers<void>());
let beat = 0;
const hooks = { heartbeat: () => beats[beat++]?.resolve() };
await using server = await startServer({ store: Deno.args[0]!, jobs: [Welcome], hooks, settings: { heartbeat: "50ms" } });
const jid = await server.client.push(Welcome, ["Ada", 2]);
const ended = await server.client.result(jid!);
await Promise.all(beats.map(({ promise }) => promise));
console.log(ended?.state, ended?.result);
`;

const PRODUCER = `
import { Client, openStore } from "./library/jobs.js";

await using store = await openStore(Deno.args[0]!);
console.log(await new Client({ store }).push("Welcome", ["Grace", 1]));
`;

/** Uses the helpers for tests, and the types. */
const TESTS = `
import { Client, defineJob } from "./library/jobs.js";
import { fakeClient } from "./library/testing.js";
import type { PushResult } from "./library/types.js";
const Add = defineJob("Add", (_ctx, a: number, b: number) => a + b);
const client = fakeClient({ jobs: [Add] });
const results: PushResult[] = await client.pushBulk(Add, [[1, 2]]);
await client.drain();
console.log(results.length, (await client.pushed(Add))[0]?.result, client instanceof Client);
`;

/** The first program of the guide. */
async function guideProgram(): Promise<string> {
  const guide = await Deno.readTextFile(new URL("../../docs/guides/library.md", import.meta.url));
  return /```ts ignore\n(import .*?)```/s.exec(guide)![1]!;
}

/** A folder with a copy of the library and the given programs. */
async function newFolder(programs: Record<string, string>) {
  const folder = await temporaryFolder();
  await runHere("cp", ["-r", library, `${folder.path}/library`]);
  for (const [name, code] of Object.entries(programs)) await Deno.writeTextFile(`${folder.path}/${name}`, code);
  const run = (...args: [string, ...string[]]) =>
    outputOf(offlineDeno(...args), { cwd: folder.path, env: { NO_COLOR: "1" } });
  return { path: folder.path, run, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
}

Deno.test("a program in another folder pushes and performs, on both stores", async () => {
  await using folder = await newFolder({ "main.ts": PROGRAM, "push.ts": PRODUCER });
  await using redis = await startRedis();
  for (const store of ["sqlite:jobs.db", "sqlite::memory:", redis.url]) {
    const { success, stdout, stderr } = await folder.run("run", "-A", "main.ts", store);
    assert(success, stderr);
    assertEquals(stdout, "succeeded AdaAda\n", stderr);
    assert(!stderr.includes("Heartbeat thread failed"), stderr);
    const pushed = await folder.run("run", "-A", "push.ts", store);
    assertMatch(pushed.stdout, /^[0-9a-f]{24}\n$/, pushed.stderr);
  }
});

Deno.test("the library has its types: wrong arguments are found before the program runs, and right programs pass", async () => {
  const wrong = PROGRAM.replace(`["Ada", 2]`, `["Ada", "2"]`);
  const shop = (await guideProgram()).replaceAll('"./jobs/', '"./library/');
  await using folder = await newFolder({
    "main.ts": PROGRAM,
    "push.ts": PRODUCER,
    "tests.ts": TESTS,
    "shop.ts": shop,
    "wrong.ts": wrong,
  });
  // One check of all: each takes seconds.
  const { success, stderr } = await folder.run("check", "main.ts", "push.ts", "tests.ts", "shop.ts", "wrong.ts");
  assert(!success);
  const errors = [...stderr.matchAll(/^TS\d+ .*|^ +at file:.*/gm)].map(([line]) => line.trim());
  assertEquals(errors.length, 2, stderr);
  assertStringIncludes(stderr, "Type 'string' is not assignable to type 'number'");
  assertStringIncludes(errors[1]!, "/wrong.ts:");
});

Deno.test("testing.js has the helpers for tests, types.js the types", async () => {
  await using folder = await newFolder({ "main.ts": TESTS });
  const { stdout, stderr } = await folder.run("run", "-A", "main.ts");
  assertEquals(stdout, "1 3 true\n", stderr);
});

Deno.test("testing.js runs a handler with steps in Node, or names the version of Node that has SQLite", async () => {
  requireTool("node");
  const program = `
    import { testJob } from "./library/testing.js";
    const job = testJob(async (ctx, a) => {
      const b = await ctx.step("double", () => a * 2);
      await ctx.sleep("rest", "1h");
      return b + 1;
    }, [3]);
    try {
      const states = [await job.run(), await job.advance("1h")];
      console.log(states.join(), job.result);
    } catch (error) {
      console.log(error.message);
    }`;
  await using folder = await newFolder({ "main.mjs": program });
  const hasSqlite = await nodeHasSqlite();
  assertEquals(
    await runHere("node", [`${folder.path}/main.mjs`]),
    hasSqlite ? "asleep,succeeded 7" : "Tests with jobs need SQLite: expected Deno, or Node 22.13 or later",
  );
});

async function nodeHasSqlite(): Promise<boolean> {
  const has = `console.log(require("node:module").isBuiltin("node:sqlite"))`;
  return await runHere("node", ["-e", has]) === "true";
}

Deno.test("the tests for Node of docs/guides/testing.md pass there, or in Deno where Node has no SQLite", async () => {
  requireTool("node");
  const page = blocksOf(await Deno.readTextFile(new URL("../../docs/guides/testing.md", import.meta.url)));
  const files = page.filter(({ text, file }) => file?.startsWith("orders.") || text.includes("./orders.mjs"));
  assertEquals(files.length, 2);
  await using folder = await newFolder({ "orders.mjs": files[0]!.text, "orders.test.mjs": files[1]!.text });
  await Deno.rename(`${folder.path}/library`, `${folder.path}/jobs`);
  const [program, ...args] = await nodeHasSqlite() ? ["node", "--test"] : offlineDeno("test", "-A");
  const { success, stdout } = await new Deno.Command(program!, { args, cwd: folder.path }).output();
  const text = new TextDecoder().decode(stdout);
  assert(success, text);
  assertMatch(text, /pass 2\n|2 passed/);
});

Deno.test("the library reads no file outside its folder", async () => {
  await using folder = await newFolder({ "push.ts": PRODUCER });
  const { modules } = JSON.parse((await folder.run("info", "--json", "push.ts")).stdout) as {
    modules: { specifier: string; error?: string }[];
  };
  const outside = modules.filter(({ specifier, error }) =>
    error !== undefined || !(specifier.startsWith(`file://${folder.path}/`) || specifier.startsWith("node:"))
  );
  assertEquals(outside, []);
  // Without the network, and without npm's cache.
  const limited = ["--allow-read=.", "--allow-write=.", "--allow-env", "--no-prompt"];
  const { stdout, stderr } = await folder.run("run", ...limited, "push.ts", "sqlite:jobs.db");
  assertMatch(stdout, /^[0-9a-f]{24}\n$/, stderr);
});

Deno.test("a worker runs with the permissions that the guide names", async () => {
  const guide = await Deno.readTextFile(new URL("../../docs/guides/library.md", import.meta.url));
  const permissions = /`deno run (--allow.*?) shop\.ts`/.exec(guide)![1]!.split(" ");
  await using folder = await newFolder({ "main.ts": PROGRAM });
  const { success, stdout, stderr } = await folder.run(
    "run",
    "--no-prompt",
    ...permissions,
    "main.ts",
    "sqlite:jobs.db",
  );
  assert(success, stderr);
  assertEquals(stdout, "succeeded AdaAda\n", stderr);
  assert(!stderr.includes("eartbeat thread"), stderr);
});

Deno.test("the first program of the guide runs unchanged, and stops on a signal", async () => {
  await using folder = await newFolder({ "shop.ts": await guideProgram() });
  await Deno.rename(`${folder.path}/library`, `${folder.path}/jobs`);
  const command = offlineDeno("run", "-A", "shop.ts");
  await using program = new JobsProcess({ store: "", cwd: folder.path, command });
  await program.logged("Welcome, Ada", { class: "Welcome", queue: "mail" });
  await program.logged("Done");
  program.kill("SIGTERM");
  assertEquals((await program.status()).code, 0);
});
