import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { jobsCommand } from "../../tests/support/command.ts";
import { VERSION } from "../version.ts";

/** The end of a command. */
interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A folder for state and working directory, away when disposed. */
async function workplace(
  files: Readonly<Record<string, string>> = {},
): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await Deno.makeTempDir({ prefix: "jobs-test-" });
  for (const [name, text] of Object.entries(files)) await Deno.writeTextFile(`${path}/${name}`, text);
  return { path, [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }) };
}

/** Starts `jobs ARGS` with nothing in its environment but what is given. */
function start(cwd: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): Deno.ChildProcess {
  const kept = Object.fromEntries(["HOME", "PATH", "DENO_DIR"].map((name) => [name, Deno.env.get(name) ?? ""]));
  if (kept["DENO_DIR"] === "") delete kept["DENO_DIR"];
  const [program, ...first] = jobsCommand();
  return new Deno.Command(program, {
    args: [...first, ...args],
    cwd,
    clearEnv: true,
    env: { ...kept, NO_COLOR: "1", XDG_STATE_HOME: cwd, ...env },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

async function jobs(cwd: string, args: readonly string[], env?: Readonly<Record<string, string>>): Promise<Ended> {
  const { code, stdout, stderr } = await start(cwd, args, env).output();
  const decoder = new TextDecoder();
  return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
}

Deno.test("prints an error in one line on stderr, with the exit code of its kind", async () => {
  await using place = await workplace({ "broken.json": "{", "ok.js": "export const A = () => {};" });
  const cases: [args: string[], code: number, stderr: string][] = [
    [["pusj", "HardJob"], 2, 'jobs: Unknown command "pusj"; did you mean jobs push?'],
    [["frobnicate"], 2, 'jobs: Unknown command "frobnicate"; see jobs --help'],
    [["constructor"], 2, 'jobs: Unknown command "constructor"; see jobs --help'],
    [["a\nb\x1b[2J"], 2, 'jobs: Unknown command "a\\nb\\u001b[2J"; see jobs --help'],
    [["help", "stat"], 2, 'jobs: Unknown help topic "stat"; did you mean jobs help stats?'],
    [["help", "retris"], 2, 'jobs: Unknown help topic "retris"; did you mean jobs help retries?'],
    [["help", "constructor"], 2, 'jobs: Unknown help topic "constructor"; see jobs help'],
    [
      ["stats", "--jsn"],
      2,
      'jobs: Unknown option "--jsn"; did you mean --json?',
    ],
    [
      ["stats", "-C", "broken.json"],
      2,
      'jobs: Can\'t read configuration file "broken.json": ' +
      "Expected property name or '}' in JSON at position 1 (line 1 column 2)",
    ],
    [["push", "HardJob", "-q", "a b"], 2, ""],
    [["run", "nope.js"], 2, 'jobs: Handlers "nope.js" not found: expected a module or a folder of modules'],
    [["run"], 2, 'jobs: Missing argument: HANDLERS. Usage: jobs run handlers.js, or set "handlers" in jobs.json'],
    [["ps"], 2, 'jobs: Unknown command "ps"; did you mean jobs workers?'],
    [["stats", "extra"], 2, 'jobs: Unexpected argument "extra". Usage: jobs stats'],
    [
      ["list", "retry"],
      2,
      'jobs: Invalid state "retry": expected queued, scheduled, retrying, dead, running, waiting, finished; did you mean retrying?',
    ],
    [["-e", "staging", "stats"], 2, ""],
    [
      ["run", "ok.js", "--log-file", "no/such.log"],
      1,
      'jobs: Log file "no/such.log" cannot be opened: no such folder',
    ],
    [
      ["stats", "--store", "mysql:x"],
      2,
      'jobs: Invalid store "mysql:x": expected sqlite:PATH, redis://HOST, rediss://HOST, redis+unix:PATH, ' +
      "redis+sentinel://HOST/NAME or postgres://HOST/DATABASE",
    ],
  ];
  for (const [args, code, stderr] of cases) {
    const ended = await jobs(place.path, args);
    assertEquals([ended.code, ended.stdout], [code, ""], args.join(" "));
    assertMatch(ended.stderr, /^jobs: [^\n]+\n$/, args.join(" "));
    if (stderr !== "") assertEquals(ended.stderr, `${stderr}\n`);
  }
});

Deno.test("prints the overview on stderr with exit 2 without a command, and on stdout on request", async () => {
  await using place = await workplace();
  const none = await jobs(place.path, []);
  assertEquals([none.code, none.stdout], [2, ""]);
  for (const args of [["help"], ["--help"], ["-h"]]) {
    assertEquals(await jobs(place.path, args), { code: 0, stdout: none.stderr, stderr: "" });
  }
  assertStringIncludes(none.stderr, "Usage: jobs COMMAND");
  assertEquals(none.stderr.includes("__"), false, "nothing that is not for people");
});

Deno.test("has a help text for every command, with usage and examples, in 80 columns", async () => {
  await using place = await workplace();
  const { stdout } = await jobs(place.path, ["help"]);
  const { COMMANDS } = await import("./commands_table.ts");
  const names = Object.keys(COMMANDS);
  for (const name of names) assertMatch(stdout, new RegExp(`^  ${name} +\\S`, "m"));
  assert(names.includes("run") && names.includes("push") && names.includes("version"), names.join(" "));
  for (const name of names) {
    const { code, stdout } = await jobs(place.path, ["help", name]);
    const usage = name === "shell-init" ? "Usage: eval" : `Usage: jobs ${name}`;
    assertEquals([code, stdout.startsWith(usage), stdout.includes("\nExamples\n")], [0, true, true], name);
    assertEquals(stdout.split("\n").filter((line) => line.length > 80), [], name);
  }
  const { TOPICS } = await import("./help/topics.ts");
  for (const name of Object.keys(TOPICS)) assertStringIncludes(stdout, name);
  assertEquals(stdout.split("\n").filter((line) => line.length > 80), []);
});

Deno.test("prints a command's help wherever --help is, except after --", async () => {
  await using place = await workplace();
  const { help } = await import("./commands/push.ts");
  for (const args of [["help", "push"], ["push", "--help"], ["push", "HardJob", "-q", "x", "-h"]]) {
    assertEquals(await jobs(place.path, args), { code: 0, stdout: `${help.trim()}\n`, stderr: "" });
  }
  const pushed = await jobs(place.path, ["push", "HardJob", "--", "--help"]);
  assertMatch(pushed.stdout, /^[0-9a-f]{24}\n$/);
});

Deno.test("prints the version in every form", async () => {
  await using place = await workplace();
  for (const args of [["version"], ["--version"], ["-V"], ["-v"]]) {
    const { code, stdout, stderr } = await jobs(place.path, args);
    assertEquals([code, stderr], [0, ""]);
    assertStringIncludes(stdout, `jobs ${VERSION} (deno ${Deno.version.deno}`);
  }
  assertEquals(JSON.parse((await jobs(place.path, ["version", "--json"])).stdout).jobs, VERSION);
});

Deno.test("reads the first configuration file in the working directory", async () => {
  const origins = async (files: Record<string, string>, env: Record<string, string> = {}) => {
    await using place = await workplace(files);
    const { code, stdout, stderr } = await jobs(place.path, ["doctor", "--json"], env);
    assertEquals([code, stderr], [0, ""]);
    const rows = JSON.parse(stdout).settings as { key: string; value: unknown; origin: string }[];
    return rows.filter(({ key }) => key === "concurrency").map(({ value, origin }) => [value, origin])[0];
  };
  assertEquals(await origins({}), [10, "default"]);
  assertEquals(await origins({ "jobs.yaml": "concurrency: 3" }), [3, "jobs.yaml"]);
  assertEquals(
    await origins({ "jobs.json": '{ "concurrency": 4 }', "jobs.yml": "concurrency: 5" }),
    [4, "jobs.json"],
  );
  assertEquals(await origins({ "jobs.json": '{ "concurrency": 4 }' }, { JOBS_CONCURRENCY: "6" }), [
    6,
    "JOBS_CONCURRENCY",
  ]);
});

Deno.test("hides passwords in doctor", async () => {
  await using place = await workplace();
  const users = "bob-and-hash,ann:reader:bob-and-hash,bob-and-hash:reader";
  const env = { JOBS_WEB_USERS: users, JOBS_STORE: "redis://bob:pass-word@127.0.0.1:1/0" };
  // Each waits for the store, which is down.
  for (const run of [[], ["--json"]].map((more) => jobs(place.path, ["doctor", ...more], env))) {
    const { code, stdout, stderr } = await run;
    assertEquals(code, 1);
    assertStringIncludes(stdout, "redis://bob:***@127.0.0.1:1/0");
    assertStringIncludes(stdout, "ann:reader:***");
    assertEquals(/bob-and-hash|pass-word/.test(stdout + stderr), false, stdout + stderr);
  }
});

Deno.test("succeeds if the reader of its output closes it", async () => {
  await using place = await workplace();
  const child = start(place.path, ["help"]);
  await child.stdout.cancel();
  assertEquals(await new Response(child.stderr).text(), "");
  assertEquals((await child.status).code, 0);
});

Deno.test("succeeds if stderr is closed", async () => {
  await using place = await workplace();
  const child = start(place.path, ["push", "HardJob"]);
  await child.stderr.cancel();
  assertMatch(await new Response(child.stdout).text(), /^[0-9a-f]{24}\n$/);
  assertEquals((await child.status).code, 0);
});

Deno.test("has a text of 80 columns for every topic, and one for every subcommand", async () => {
  const { TOPICS } = await import("./help/topics.ts");
  for (const [name, [, load]] of Object.entries(TOPICS)) {
    const text = await load();
    assert(text.trim().length > 100, name);
    assertEquals(text.split("\n").filter((line) => line.length > 80), [], name);
  }
  await using place = await workplace();
  assert((await jobs(place.path, ["help", "cron", "add"])).stdout.startsWith("Usage: jobs cron add NAME"));
  assert((await jobs(place.path, ["cron", "add", "--help"])).stdout.startsWith("Usage: jobs cron add NAME"));
  const settings = (await jobs(place.path, ["help", "environment"])).stdout;
  for (const name of ["JOBS_STORE", "JOBS_WEB_USERS", "NO_COLOR"]) assertStringIncludes(settings, name);
});

Deno.test("warns of a misspelled variable, in doctor and in a worker", async () => {
  await using place = await workplace({ "ok.js": "export const A = () => {};" });
  const env = { JOBS_CONCURENCY: "3", JOBS_PORT_80_TCP: "tcp://10.0.0.1", JOBS_JID: "x" };
  const { stdout } = await jobs(place.path, ["doctor", "--json"], env);
  const warned = (JSON.parse(stdout).findings as { check: string; state: string; message: string }[])
    .filter(({ check, state }) => check === "settings" && state === "warning").map(({ message }) => message);
  assertEquals(warned, ["Unknown environment variable JOBS_CONCURENCY; did you mean JOBS_CONCURRENCY?"]);
  const { stderr } = await jobs(place.path, ["run", "ok.js", "--burst", "--json"], env);
  assertStringIncludes(stderr, warned[0]!);
});

Deno.test("accepts common options anywhere, and prints errors as JSON", async () => {
  await using place = await workplace();
  const forms = [["--json", "stats"], ["stats", "--json"], ["--store", "sqlite:a.db", "--json", "cron", "list"]];
  for (const args of forms.slice(0, 2)) assertEquals(JSON.parse((await jobs(place.path, args)).stdout).queued, 0);
  const missing = await jobs(place.path, forms[2]!);
  assertEquals([missing.code, JSON.parse(missing.stdout).error.code], [1, "store"]);
  const usage = await jobs(place.path, ["stats", "extra", "--json"]);
  assertEquals([usage.code, JSON.parse(usage.stdout)], [2, {
    error: { code: "usage", message: 'Unexpected argument "extra". Usage: jobs stats' },
  }]);
  assertMatch(usage.stderr, /^jobs: Unexpected argument "extra"/);
});

Deno.test("exits with 1 and code not_found for everything that doesn't exist", async () => {
  await using place = await workplace();
  await jobs(place.path, ["push", "A"]);
  const missing = [
    ...["show", "retry", "delete", "cancel", "kill"].map((name) => [name, "nope"]),
    ["move", "nope", "--to", "low"],
    ["clear", "nope"],
    ["limit", "nope"],
    ["list", "queued", "-q", "nope"],
    ["delete", "--all", "queued", "-q", "nope", "--yes"],
    ["stop", "nope"],
    ["quiet", "nope"],
    ["resume", "--worker", "nope"],
    ["dump", "nope"],
    ...["next", "history", "run", "pause", "resume", "remove"].map((name) => ["cron", name, "nope"]),
    ["find", "nope"],
  ];
  for (const args of missing) {
    const { code, stdout, stderr } = await jobs(place.path, [...args, "--json"]);
    assertEquals([code, JSON.parse(stdout).error.code], [1, "not_found"], args.join(" "));
    assertMatch(stderr, /^jobs: [^\n]+\n$/, args.join(" "));
  }
});
