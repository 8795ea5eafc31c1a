/** `jobs web` and `jobs run --web` as processes, on a socket. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { jobsCommand } from "../support/command.ts";
import { jobs, JobsProcess, temporaryFolder } from "../support/process.ts";
import { freePort } from "../support/redis.ts";
import { requireTool } from "../support/tools.ts";
import { denoCommand, outputOf } from "../../scripts/deno_command.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
const HANDLERS = `${ROOT}tests/support/handlers.js`;

Deno.test("jobs web listens on this machine, prints its address, and stops on a signal", async () => {
  await using folder = await temporaryFolder();
  const [program, ...first] = jobsCommand();
  const child = new Deno.Command(program, {
    args: [...first, "web", "0", "--store", `sqlite:${folder.path}/jobs.db`, "--prefix", "/jobs/"],
    stdin: "null",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const reader = child.stdout.getReader();
  const url = new TextDecoder().decode((await reader.read()).value).trim();
  assertMatch(url, /^http:\/\/127\.0\.0\.1:\d+\/jobs\/$/);
  const answer = await fetch(`${url}queues`);
  assertEquals(answer.status, 200);
  assertStringIncludes(await answer.text(), "No queues yet");
  const watching = await fetch(`${url}events`);
  child.kill("SIGTERM");
  await watching.body!.cancel().catch(() => {});
  assertEquals((await child.status).code, 0);
  await reader.cancel();
});

Deno.test("jobs web refuses to listen for other machines without users; --new-user prints a user", async () => {
  await using folder = await temporaryFolder();
  const store = ["--store", `sqlite:${folder.path}/jobs.db`];
  const refused = await jobs(["web", "0.0.0.0:0", ...store]);
  assertEquals([refused.code, refused.stdout], [2, ""]);
  assertStringIncludes(refused.stderr, 'Cannot listen on "0.0.0.0" without a login');
  const wrong = await jobs(["web", "0", ...store], { env: { JOBS_WEB_USERS: "ann:operator:plain-password" } });
  assertEquals(wrong.code, 2);
  assert(!wrong.stderr.includes("plain-password"), "a secret isn't printed");
  const short = await jobs(["web", "--new-user", "ann"], { stdin: "short\n" });
  assertEquals(short.code, 2);
  const made = await jobs(["web", "--new-user", "ann", "--role", "reader"], { stdin: "correct horse\n" });
  assertMatch(made.stdout, /^ann:reader:scrypt\$15p3\$[\w-]{22}\$[\w-]{43}\n$/);
  const token = JSON.parse((await jobs(["web", "--new-token", "ci", "--json"])).stdout);
  assertMatch(token.user, /^ci:operator:sha256\$[\w-]{43}$/);
});

Deno.test("--new-user doesn't show the password that is typed on a terminal", async () => {
  requireTool("python3");
  const script = `${ROOT}tests/support/typist.py`;
  const type = async (...answers: string[]) => {
    const args = [script, ...answers, "--", ...jobsCommand(), "web", "--new-user", "ann"];
    const { code, stdout, stderr } = await new Deno.Command("python3", { args }).output();
    return { code, shown: new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr) };
  };
  // DEL removes a character, ^U the line.
  const made = await type("Password: ", "no\x15correct horsX\x7fe\r", "again: ", "correct horse\r");
  assertMatch(made.shown, /^Password: [\r\n]+Password again: [\r\n]+ann:operator:scrypt\$15p3\$[\w$-]+\r?\n$/);
  assertEquals(made.code, 0);
  const differs = await type("Password: ", "correct horse\r", "again: ", "correct house\r");
  assertMatch(differs.shown, /jobs: The passwords differ: no user was made\r?\n$/);
  assertEquals([differs.code, differs.shown.includes("horse")], [2, false]);
  const stopped = await type("Password: ", "correct\x03");
  assertEquals([stopped.code, stopped.shown.includes("correct")], [130, false]);
});

Deno.test("jobs run --web shows the jobs of its worker, and is not ready once quiet", async () => {
  await using folder = await temporaryFolder();
  const store = `sqlite:${folder.path}/jobs.db`;
  await using server = new JobsProcess({ store, args: [HANDLERS, "--web", "0"] });
  const { web } = await server.logged("Ready");
  assertMatch(String(web), /^http:\/\/127\.0\.0\.1:[1-9]\d+\/$/);
  const pushed = await fetch(`${web}api/v1/jobs`, {
    method: "POST",
    body: JSON.stringify({ class: "Noop" }),
    headers: { "content-type": "application/json" },
  });
  const { jid } = await pushed.json();
  await server.logged("Acted", { name: "audit", action: "push", target: jid });
  await server.logged("Done", { name: "processor", jid });
  const metrics = await (await fetch(`${web}metrics`)).text();
  assertStringIncludes(metrics, 'jobs_performed_total{class="Noop",outcome="succeeded"} 1');
  assertEquals(await fetch(`${web}readyz`).then((answer) => answer.text()), "ready\n");
  server.kill("SIGTSTP");
  await server.logged("Quiet: taking no more jobs");
  const quiet = await fetch(`${web}readyz`);
  assertEquals([quiet.status, await quiet.text()], [503, "Quiet: not fetching jobs\n"]);
  server.kill("SIGTERM");
  assertEquals((await server.status()).code, 0);
});

Deno.test("a worker logs that no login is required, and each refused login in the form that fail2ban's filter in the docs has", async () => {
  await using folder = await temporaryFolder();
  const store = `sqlite:${folder.path}/jobs.db`;
  await using open = new JobsProcess({ store, args: [HANDLERS, "--web", "0"] });
  await open.logged("No login required: every user of this machine has full access to the dashboard", {
    level: "warn",
  });
  const { stdout: user } = await jobs(["web", "--new-user", "ann"], { stdin: "correct horse\n" });
  await using server = new JobsProcess({
    store,
    args: [HANDLERS, "--web", "0"],
    env: { JOBS_WEB_USERS: user.trim() },
  });
  const { web } = await server.logged("Ready");
  const login = async (password: string) => {
    const headers = { origin: new URL(String(web)).origin };
    const body = new URLSearchParams({ name: "ann", password });
    const { status, body: answer } = await fetch(`${web}login`, { method: "POST", headers, body, redirect: "manual" });
    await answer?.cancel();
    return status;
  };
  assertEquals([await login("wrong"), await login("correct horse")], [401, 303]);
  const lines = [await server.logged("Acted", { action: "login" }), await server.logged("Logged in")];
  const docs = await Deno.readTextFile(`${ROOT}docs/operate/security.md`);
  const filter = new RegExp(docs.match(/^failregex = (.*)$/m)![1]!.replace("<HOST>", "127\\.0\\.0\\.1"));
  assertEquals(lines.map((line) => filter.test(JSON.stringify(line))), [true, false]);
});

Deno.test("jobs run --web isn't ready while it waits for the name of a killed worker", async () => {
  await using folder = await temporaryFolder();
  const store = `sqlite:${folder.path}/jobs.db`;
  await using killed = new JobsProcess({ store, args: [HANDLERS, "--name", "mail"] });
  await killed.logged("Ready");
  killed.kill("SIGKILL");
  await killed.status();
  const port = freePort();
  await using server = new JobsProcess({ store, args: [HANDLERS, "--name", "mail", "--web", String(port)] });
  await server.logged("Waiting until the worker that has the name is offline");
  const waiting = await fetch(`http://127.0.0.1:${port}/readyz`);
  assertEquals([waiting.status, await waiting.text()], [503, "Starting: not fetching jobs yet\n"]);
});

Deno.test("no module of src/web is loaded without --web", async () => {
  const { modules } = JSON.parse((await outputOf(denoCommand("info", "--json", `${ROOT}main.ts`))).stdout);
  // deno-lint-ignore no-explicit-any -- the document of `deno info` has no types
  const byName = new Map<string, any>(modules.map((module: { specifier: string }) => [module.specifier, module]));
  for (const command of ["run.ts", "push.ts"]) {
    const read = new Set<string>();
    const visit = (name: string) => {
      if (read.has(name)) return;
      read.add(name);
      for (const { code, isDynamic } of byName.get(name)?.dependencies ?? []) {
        if (code?.specifier && !isDynamic) visit(code.specifier);
      }
    };
    visit(`file://${ROOT}src/cli/commands/${command}`);
    assert(read.size > 20, command);
    assertEquals([...read].filter((name) => /\/src\/web\/|hono/.test(name)), [], command);
  }
});
