/** Starts that fail: one clear line, an exit code that tells a usage error from others, and nothing left behind. */
import { assertEquals, assertMatch } from "@std/assert";
import { Bench } from "../support/bench.ts";
import { jobsCommand } from "../support/command.ts";
import { jobs, JobsProcess } from "../support/process.ts";

interface Case {
  readonly what: string;
  /** @param port a port that is in use */
  readonly args: (folder: string, port: number) => readonly string[];
  readonly code: number;
  readonly says: RegExp;
}

const CASES: readonly Case[] = [
  {
    what: "a port for the dashboard that is taken",
    args: (folder, port) => ["--web", `${port}`, "--pid-file", `${folder}/pid`],
    code: 2,
    says: /^jobs: Cannot listen on http:\/\/127\.0\.0\.1:\d+\/: address already in use; choose another port\n$/,
  },
  {
    what: "an address for the dashboard that is none",
    args: (folder) => ["--web", "1:2:3", "--pid-file", `${folder}/pid`],
    code: 2,
    says: /^jobs: --web: Invalid address "1:2:3": expected .*\n$/,
  },
  {
    what: "handlers that are not there",
    args: (folder) => [`${folder}/nothing.js`, "--pid-file", `${folder}/pid`],
    code: 2,
    says: /^jobs: Handlers ".*\/nothing\.js" not found: expected a module or a folder of modules\n$/,
  },
  {
    what: "an isolated class without a handler",
    args: () => ["--isolate", "Nope"],
    code: 2,
    says: /^jobs: "isolate" names class "Nope", which has no handler; handlers: .*\n$/,
  },
  {
    what: "a pidfile in a folder that is not there",
    args: (folder) => ["--pid-file", `${folder}/no/pid`],
    code: 1,
    says:
      /^jobs: Pidfile ".*\/no\/pid" cannot be written: the folder doesn't exist; create it, or name another file\n$/,
  },
  {
    what: "a pidfile that is a folder",
    args: (folder) => ["--pid-file", folder],
    code: 1,
    says: /^jobs: Pidfile ".*" cannot be written: it is a folder; name a file in it\n$/,
  },
];

for (const { what, args, code, says } of CASES) {
  for (const [how, more] of [["", []], [", with --processes", ["--processes", "2"]]] as const) {
    Deno.test(`${what} ends a start${how} with one line and code ${code}, and leaves nothing behind`, async () => {
      await using bench = await Bench.open();
      using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
      const { port } = taken.addr as Deno.NetAddr;
      const result = await jobs(
        ["run", bench.handlers, ...args(bench.folder, port), ...more, "--name", "mail", "--store", bench.url],
        { env: { JOBS_LOG_LEVEL: "error" } },
      );
      assertEquals(result.code, code, result.stderr);
      assertMatch(result.stderr, says);
      assertEquals(await bench.store.workers.list(), []);
      for (const name of ["mail", "mail.1"]) {
        assertEquals(
          (await bench.store.workers.claim(`name:${name}`, "another", 1_000))?.worker,
          "another",
          "the name is free",
        );
      }
      const files = (await Array.fromAsync(Deno.readDir(bench.folder))).map(({ name }) => name).sort();
      assertEquals(files, ["jobs.db", "jobs.db-shm", "jobs.db-wal"]);
    });
  }
}

Deno.test("a worker without free file descriptors starts when it has some", async () => {
  await using bench = await Bench.open();
  const hog = `${bench.folder}/hog.js`;
  await Deno.writeTextFile(
    hog,
    `const files = [];
     try { for (;;) files.push(await Deno.open(import.meta.filename)); } catch { /* none is left */ }
     for (const file of files.splice(0, 12)) file.close();
     export function Hog() {}
     const timer = setInterval(() => {
       try { Deno.statSync("${bench.notes}.go"); } catch { return; }
       clearInterval(timer);
       for (const file of files) file.close();
     }, 20);`,
  );
  const command = [...jobsCommand(), "run", bench.handlers, hog, "--store", bench.url];
  await using server = new JobsProcess({
    store: bench.url,
    command: ["sh", "-c", `ulimit -n 300; exec "$@"`, "sh", ...command],
  });
  await server.logged("Can't start the heartbeat thread, retrying");
  await bench.go();
  await server.logged("Ready");
  await server.logged("Done", { jid: await bench.push("Noop", []) });
});
