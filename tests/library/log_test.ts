/** The log of an embedded worker, in real programs, because a program has one log. */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { temporaryFolder } from "../support/process.ts";
import { denoCommand } from "../../scripts/deno_command.ts";

/** Runs a program on the library's sources. Returns its output. */
async function runProgram(code: string, cwd?: string) {
  const head = `import { defineJob, Snooze, startServer } from ${
    JSON.stringify(import.meta.resolve("../../src/mod.ts"))
  };
    const Welcome = defineJob("Welcome", (ctx, name) => ctx.log.info("Welcome, " + name), { result_ttl: 60 });
    const serve = async (options = {}, jobs = [Welcome]) => {
      await using server = await startServer({ store: "sqlite::memory:", jobs, ...options });
      await server.client.result(await server.client.push("Welcome", ["Ada"], { result_ttl: 60 }));
    };`;
  const [program, ...args] = denoCommand("run", "-A", "--no-check", "-");
  const child = new Deno.Command(program, {
    args,
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
    env: { NO_COLOR: "1" },
    ...(cwd !== undefined && { cwd }),
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(`${head}\n${code}`));
  await writer.close();
  const { code: exit, stdout, stderr } = await child.output();
  const decoder = new TextDecoder();
  return { exit, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
}

/** Returns the messages of a JSON log. */
function messages(log: string): string[] {
  const all = log.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line).msg);
  return all.filter((msg) => !msg.startsWith("Event loop was blocked")); // by whatever else the machine does
}

const LIFE = ["Ready", "Welcome, Ada", "Done", "Stopping", "Stopped"];

Deno.test("an embedded worker logs on stderr by default, as jobs run does", async () => {
  const { exit, stdout, stderr } = await runProgram("await serve();");
  assertEquals([exit, stdout, messages(stderr)], [0, "", LIFE]);
});

Deno.test("the program sets level and format by options or settings, and false turns the log off", async () => {
  const { stderr: pretty } = await runProgram(`await serve({ log: { format: "pretty" } });`);
  assertMatch(pretty, /^\d{4}-\d\d-\d\d .* INFO {2}processor Welcome, Ada class=Welcome /m);
  assertEquals((await runProgram(`await serve({ log: { level: "error" } });`)).stderr, "");
  assertEquals((await runProgram(`await serve({ settings: { log: { level: "error" } } });`)).stderr, "");
  assertEquals((await runProgram(`await serve({ log: false });`)).stderr, "");
});

Deno.test("the next worker of the same program opens the log file again", async () => {
  await using folder = await temporaryFolder();
  const again = `await serve({ log: { file: "log" } }); await serve({ log: { file: "log" } });`;
  const { stderr } = await runProgram(again, folder.path);
  assertEquals([messages(await Deno.readTextFile(`${folder.path}/log`)), stderr], [[...LIFE, ...LIFE], ""]);
});

Deno.test("the lines of a worker go to its log again when a later one of the same program has stopped", async () => {
  await using folder = await temporaryFolder();
  const code = `const start = (file) => startServer({ store: "sqlite::memory:", jobs: [Welcome], log: { file } });
    const first = await start("first");
    const second = await start("second");
    await second.stop();
    await first.client.result(await first.client.push("Welcome", ["Ada"]));
    await first.stop();`;
  const { stderr } = await runProgram(code, folder.path);
  assertEquals([messages(await Deno.readTextFile(`${folder.path}/first`)), stderr], [LIFE, ""]);
  assertEquals(messages(await Deno.readTextFile(`${folder.path}/second`)), ["Ready", "Stopping", "Stopped"]);
});

Deno.test("a program that has configured LogTape receives the lines, and must not pass log options", async () => {
  const own = `import { configureSync } from "@logtape/logtape";
    const sink = ({ category, rawMessage }) => category[0] === "jobs" && console.log(category[1], rawMessage);
    configureSync({ sinks: { sink }, loggers: [{ category: [], sinks: ["sink"] }] });`;
  const { stdout, stderr } = await runProgram(`${own} await serve();`);
  assertStringIncludes(stdout, "processor Welcome, Ada\n");
  assertEquals(stderr, "");
  const refused = await runProgram(
    `${own} await serve({ log: { level: "debug" } }).catch((e) => console.log(e.message));`,
  );
  assertStringIncludes(
    refused.stdout,
    `The option "log" is {"level":"debug"}, but this program has configured LogTape`,
  );
});

Deno.test("a misspelled option causes a warning at the start", async () => {
  const { stderr } = await runProgram(
    `await serve({}, [defineJob("Welcome", () => {}, { retrys: 3, log_level: "error" })]);`,
  );
  assertEquals(
    messages(stderr)[0],
    'Option "retrys" of class Welcome: did you mean "retry"? it is written unchanged into each payload',
  );
});

Deno.test("a Snooze whose delay was removed snoozes its job, and the log has the missing field", async () => {
  const { stderr } = await runProgram(`
    const { promise: thrown, resolve } = Promise.withResolvers();
    const later = defineJob("Later", () => {
      resolve();
      throw Object.assign(new Snooze("5m"), { delayMs: undefined });
    });
    const server = await startServer({ store: "sqlite::memory:", jobs: [later] });
    await server.client.push("Later", []);
    await thrown;
    await server.stop();`);
  const line = stderr.split("\n").find((text) => text.includes("Snoozed"))!;
  const { level, msg, delayMs, problem } = JSON.parse(line);
  assertEquals([level, msg, delayMs], [
    "warn",
    "Snoozed for the default time: the handler's delay is invalid",
    60_000,
  ]);
  assertEquals(problem, "delayMs is undefined; expected milliseconds");
});
