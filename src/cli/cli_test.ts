import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { VERSION } from "../version.ts";

const ROOT = new URL("../../", import.meta.url).pathname;

/** What a command did. */
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
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-prompt", "--config", `${ROOT}deno.json`, `${ROOT}main.ts`, ...args],
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

Deno.test("what is wrong is said in one line on stderr, with the exit code for its kind", async () => {
  await using place = await workplace({ "broken.json": "{", "bad.js": "export function (" });
  const cases: [args: string[], code: number, stderr: string][] = [
    [["pusj", "HardJob"], 2, 'jobs: Unknown command "pusj"; did you mean jobs push?'],
    [["frobnicate"], 2, 'jobs: Unknown command "frobnicate"; see jobs --help'],
    [["constructor"], 2, 'jobs: Unknown command "constructor"; see jobs --help'],
    [["a\nb\x1b[2J"], 2, 'jobs: Unknown command "a b [2J"; see jobs --help'],
    [["help", "stat"], 2, 'jobs: There is no help on "stat"; did you mean jobs help stats?'],
    [["help", "retris"], 2, 'jobs: There is no help on "retris"; did you mean jobs help retries?'],
    [["help", "constructor"], 2, 'jobs: There is no help on "constructor"; jobs help names what there is'],
    [
      ["stats", "--jsn"],
      2,
      'jobs: Unknown option "--jsn" of jobs stats; did you mean --json? (an argument that begins with a dash stands after --)',
    ],
    [
      ["stats", "-C", "broken.json"],
      2,
      `jobs: Can't read configuration file "broken.json": ` +
      "Expected property name or '}' in JSON at position 1 (line 1 column 2)",
    ],
    [["push", "HardJob", "-q", "a b"], 2, ""],
    [["run", "nope.js"], 1, 'jobs: Handlers "nope.js" cannot be loaded: there is no such file or folder'],
    [
      ["run", "--log-file", "no/such.log"],
      1,
      'jobs: Log file "no/such.log" cannot be opened: there is no such folder',
    ],
    [
      ["stats", "--store", "mysql:x"],
      1,
      'jobs: No store at "mysql:x": the address must begin with sqlite:, redis://, rediss://, redis+unix: ' +
      "or redis+sentinel://",
    ],
  ];
  for (const [args, code, stderr] of cases) {
    const ended = await jobs(place.path, args);
    assertEquals([ended.code, ended.stdout], [code, ""], args.join(" "));
    assertMatch(ended.stderr, /^jobs: [^\n]+\n$/, args.join(" "));
    if (stderr !== "") assertEquals(ended.stderr, `${stderr}\n`);
  }
});

Deno.test("without a command, the overview is on stderr and the usage is wrong; asked for, it is on stdout", async () => {
  await using place = await workplace();
  const none = await jobs(place.path, []);
  assertEquals([none.code, none.stdout], [2, ""]);
  for (const args of [["help"], ["--help"], ["-h"]]) {
    assertEquals(await jobs(place.path, args), { code: 0, stdout: none.stderr, stderr: "" });
  }
  assertStringIncludes(none.stderr, "Usage: jobs COMMAND");
  assertEquals(none.stderr.includes("__"), false, "nothing that is not for people");
});

Deno.test("every command has a help text that begins with its usage", async () => {
  await using place = await workplace();
  const { stdout } = await jobs(place.path, ["help"]);
  const [commands, topics] = stdout.split("jobs help TOPIC");
  const names = [...commands!.matchAll(/^ {2}(\w+) +\S/gm)].map(([, name]) => name!);
  assert(names.includes("run") && names.includes("push") && names.includes("version"), names.join(" "));
  for (const name of names) {
    const { code, stdout } = await jobs(place.path, ["help", name]);
    assertEquals([code, stdout.startsWith(`Usage: jobs ${name}`)], [0, true], name);
  }
  const { TOPICS } = await import("./help/topics.ts");
  assertEquals([...topics!.matchAll(/^ {2}([\w-]+) +\S/gm)].map(([, name]) => name!), Object.keys(TOPICS));
});

Deno.test("a command's help is printed wherever --help stands, but not after --", async () => {
  await using place = await workplace();
  const { help } = await import("./commands/push.ts");
  for (const args of [["help", "push"], ["push", "--help"], ["push", "HardJob", "-q", "x", "-h"]]) {
    assertEquals(await jobs(place.path, args), { code: 0, stdout: `${help.trim()}\n`, stderr: "" });
  }
  const pushed = await jobs(place.path, ["push", "HardJob", "--", "--help"]);
  assertMatch(pushed.stdout, /^[0-9a-f]{24}\n$/);
});

Deno.test("the version is printed in each of its forms", async () => {
  await using place = await workplace();
  for (const args of [["version"], ["--version"], ["-V"]]) {
    const { code, stdout, stderr } = await jobs(place.path, args);
    assertEquals([code, stderr], [0, ""]);
    assertStringIncludes(stdout, `jobs ${VERSION} (deno ${Deno.version.deno}`);
  }
  assertEquals(JSON.parse((await jobs(place.path, ["version", "--json"])).stdout).jobs, VERSION);
});

Deno.test("the configuration file is the first of its names in the working directory", async () => {
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

Deno.test("doctor shows no password", async () => {
  await using place = await workplace();
  const users = "bob-and-hash,ann:reader:bob-and-hash,bob-and-hash:reader";
  const env = { JOBS_WEB_USERS: users, JOBS_STORE: "mysql://bob:pass-word@host/0" };
  for (const more of [[], ["--json"]]) {
    const { code, stdout, stderr } = await jobs(place.path, ["doctor", ...more], env);
    assertEquals(code, 1);
    assertStringIncludes(stdout, "mysql://bob:***@host/0");
    assertStringIncludes(stdout, "ann:reader:***");
    assertEquals(/bob-and-hash|pass-word/.test(stdout + stderr), false, stdout + stderr);
  }
});

Deno.test("a reader that has seen enough is no failure", async () => {
  await using place = await workplace();
  const child = start(place.path, ["help"]);
  await child.stdout.cancel();
  assertEquals(await new Response(child.stderr).text(), "");
  assertEquals((await child.status).code, 0);
});

Deno.test("a remark that nobody hears stops nothing", async () => {
  await using place = await workplace();
  const child = start(place.path, ["push", "HardJob"]);
  await child.stderr.cancel();
  assertMatch(await new Response(child.stdout).text(), /^[0-9a-f]{24}\n$/);
  assertEquals((await child.status).code, 0);
});

Deno.test("every topic has a text that fits a terminal; one that is a command too has both", async () => {
  const { TOPICS } = await import("./help/topics.ts");
  for (const [name, [, load]] of Object.entries(TOPICS)) {
    const text = await load();
    assert(text.trim().length > 100, name);
    const long = text.split("\n").filter((line) => line.length > 124);
    if (name !== "settings") assertEquals(long, [], name);
  }
  await using place = await workplace();
  const { stdout } = await jobs(place.path, ["help", "cron"]);
  assert(stdout.startsWith("Usage: jobs cron list") && stdout.includes("day of week"), stdout);
  const settings = (await jobs(place.path, ["help", "environment"])).stdout;
  for (const name of ["JOBS_STORE", "JOBS_WEB_USERS", "NO_COLOR"]) assertStringIncludes(settings, name);
});

Deno.test("a variable that is nearly a setting is a warning, of doctor and of a server", async () => {
  await using place = await workplace();
  const env = { JOBS_CONCURENCY: "3", JOBS_PORT_80_TCP: "tcp://10.0.0.1", JOBS_JID: "x" };
  const { stdout } = await jobs(place.path, ["doctor", "--json"], env);
  const warned = (JSON.parse(stdout).findings as { check: string; state: string; message: string }[])
    .filter(({ check, state }) => check === "settings" && state === "warning").map(({ message }) => message);
  assertEquals(warned, ["Unknown environment variable JOBS_CONCURENCY; did you mean JOBS_CONCURRENCY?"]);
  const { stderr } = await jobs(place.path, ["run", "--burst", "--json"], env);
  assertStringIncludes(stderr, warned[0]!);
});
