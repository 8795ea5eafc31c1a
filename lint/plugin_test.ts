import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { resolve } from "node:path";
import plugin from "./plugin.ts";

const ROOT = resolve(import.meta.dirname!, "..");

/** The rules that object to `code` in the file at `path`, without the `jobs/`. */
function objections(path: string, code: string): string[] {
  return Deno.lint.runPlugin(plugin, resolve(ROOT, path), code).map((found) => found.id.replace("jobs/", ""));
}

/** The message of the first objection. */
function message(path: string, code: string): string | undefined {
  return Deno.lint.runPlugin(plugin, resolve(ROOT, path), code)[0]?.message;
}

Deno.test("imports go one way", () => {
  const allowed: readonly [from: string, specifier: string][] = [
    ["main.ts", "./src/cli/cli.ts"],
    ["src/mod.ts", "./server/launcher.ts"],
    ["src/cli/commands/web.ts", "../../web/app.ts"],
    ["src/cli/commands/list.ts", "../../store/admin/admin.ts"],
    ["src/web/app.ts", "../client/client.ts"],
    ["src/web/app.ts", "../store/admin/admin.ts"],
    ["src/server/launcher.ts", "../client/client.ts"],
    ["src/server/launcher.ts", "../store/open.ts"],
    ["src/server/work/manager.ts", "./processor.ts"],
    ["src/client/client.ts", "../store/port/jobs.ts"],
    ["src/handlers/load.ts", "../job/job.ts"],
    ["src/store/open.ts", "./sqlite/open.ts"],
    ["src/store/sqlite/open.ts", "./take.ts"],
    ["src/store/redis/open.ts", "../port/errors.ts"],
    ["src/store/redis/take.ts", "./lua/take.lua"],
    ["src/store/ops/migrate/jobs.ts", "../../admin/admin.ts"],
    ["src/config/load.ts", "./settings.ts"],
    ["src/config/load.ts", "../job/suggest.ts"],
    ["src/cli/terminal/args.ts", "@std/cli/parse-args"],
    ["src/version.ts", "../deno.json"],
    ["src/job/job.ts", "./raw.ts"],
    ["src/job/failure.ts", "../std/zlib.ts"],
  ];
  for (const [from, specifier] of allowed) {
    assertEquals(objections(from, `import { a } from "${specifier}"; a();`), [], `${from} → ${specifier}`);
  }

  const refused: readonly [from: string, specifier: string][] = [
    ["main.ts", "./src/server/launcher.ts"],
    ["src/mod.ts", "./cli/cli.ts"],
    ["src/server/launcher.ts", "../web/app.ts"],
    ["src/server/launcher.ts", "../cli/terminal/output.ts"],
    ["src/server/launcher.ts", "../store/admin/admin.ts"],
    ["src/server/launcher.ts", "../store/sqlite/open.ts"],
    ["src/cli/commands/doctor.ts", "../../store/redis/open.ts"],
    ["src/web/app.ts", "../server/launcher.ts"],
    ["src/client/client.ts", "../handlers/registry.ts"],
    ["src/client/client.ts", "../store/admin/admin.ts"],
    ["src/handlers/load.ts", "../server/launcher.ts"],
    ["src/store/port/jobs.ts", "../admin/admin.ts"],
    ["src/store/port/jobs.ts", "../sqlite/open.ts"],
    ["src/store/sqlite/open.ts", "../redis/open.ts"],
    ["src/job/job.ts", "../clock.ts"],
    ["src/job/job.ts", "node:crypto"],
    ["src/log/log.ts", "../config/settings.ts"],
    ["src/config/load.ts", "../text/format.ts"],
    ["src/newcomer/a.ts", "../job/job.ts"],
    ["src/store/redis/queues.ts", "@redis/client/decoder"],
    ["src/server/schedule/poller.ts", "node:timers/promises"],
    ["src/client/client.ts", "@std/assert"],
    ["src/cli/terminal/args.ts", "deno-std/cli/parse_args.js"],
  ];
  for (const [from, specifier] of refused) {
    const found = objections(from, `import { a } from "${specifier}"; a();`);
    assertEquals(found, ["import-direction"], `${from} → ${specifier}`);
  }
});

Deno.test("every way to import counts", () => {
  const ways = [
    'import type { A } from "../web/app.ts";',
    'export * from "../web/app.ts";',
    'export { a } from "../web/app.ts";',
    'const a = await import("../web/app.ts");',
    'type A = import("../web/app.ts").A;',
  ];
  for (const way of ways) assertEquals(objections("src/server/launcher.ts", way), ["import-direction"], way);
  assertEquals(objections("src/server/launcher.ts", "const a = await import(path); export const b = 1;"), []);
});

Deno.test("the message says what may be imported, and what to do", () => {
  assertEquals(
    message("src/cron/rule.ts", 'import "../server/launcher.ts";'),
    '"cron" may not import "server" (it may: job clock): move what both need further down, or have it passed in',
  );
  assert(message("src/newcomer/a.ts", 'import "./b.ts";')?.includes("lint/directions.ts"));
});

Deno.test("each thing is kept in its place", () => {
  const rows: readonly [rule: string, code: string, inPlace: string][] = [
    ["no-console", "console.log(1);", "src/log/log.ts"],
    ["no-console", "globalThis.console.error(1);", "src/log/log.ts"],
    ["no-print", "Deno.stdout.writeSync(bytes);", "src/cli/terminal/output.ts"],
    ["no-print", "write(Deno.stderr);", "src/log/log.ts"],
    ["no-exit", "Deno.exit(1);", "main.ts"],
    ["no-signal-listener", 'Deno.addSignalListener("SIGTERM", stop);', "src/server/control/signals.ts"],
    ["no-time", "Date.now();", "src/clock.ts"],
    ["no-time", "const now = Date.now;", "src/clock.ts"],
    ["no-time", "new Date();", "src/clock.ts"],
    ["no-time", "performance.now();", "src/clock.ts"],
    ["no-time", "setTimeout(wake, 5);", "src/clock.ts"],
    ["no-time", "setInterval(beat, 5);", "src/clock.ts"],
    ["no-time", "fetch(url, { signal: AbortSignal.timeout(5) });", "src/clock.ts"],
  ];
  for (const [rule, code, inPlace] of rows) {
    assertEquals(objections("src/server/work/manager.ts", code), [rule], code);
    assertEquals(objections(inPlace, code), [], `${code} in ${inPlace}`);
  }
  assertEquals(objections("src/job/backoff.ts", 'Deno.readTextFileSync("x");'), ["no-io-in-job"]);
  assertEquals(
    message("src/web/app.ts", "Deno.exit(1);"),
    "No `Deno.exit` outside main.ts: return the exit code to main.ts, or throw",
  );
});

Deno.test("what only looks like it is let be", () => {
  const harmless = [
    "new Date(at);",
    "Deno.stdout.isTerminal();",
    "clock.now();",
    "this.console.log(1);",
    "my.Deno.exit(1);",
    "let timer: ReturnType<typeof setTimeout>;",
  ];
  for (const code of harmless) assertEquals(objections("src/server/work/manager.ts", code), [], code);
});

Deno.test("tests, examples and scripts may print, exit, and read the time", () => {
  const code = "console.log(Date.now()); Deno.exit(1);";
  for (const path of ["src/server/manager_test.ts", "tests/support/server.ts", "examples/demo.ts"]) {
    assertEquals(objections(path, code), [], path);
  }
});

Deno.test("tests do not sleep", () => {
  const sleeping = ["await sleep(1000);", "await clock.sleep(2_000);", "await delay(1500);", "setTimeout(done, 5000);"];
  for (const code of sleeping) {
    assertEquals(objections("tests/server/stop_test.ts", code), ["no-sleeping-tests"], code);
    assertEquals(objections("tests/support/server.ts", code), [], code);
  }
  for (const code of ["await sleep(20);", "setTimeout(done, 50);", "advance(5000);", "AbortSignal.timeout(5000);"]) {
    assertEquals(objections("tests/server/stop_test.ts", code), [], code);
  }
});

Deno.test("tests start Deno with the lock file, and get nothing from a registry", () => {
  const refused: readonly [path: string, code: string, part: string][] = [
    ["tests/a_test.ts", `new Deno.Command(Deno.execPath(), { args: ["eval", "1"] });`, "start Deno with `denoCommand`"],
    ["src/job/a_test.ts", `const command = [Deno.execPath(), "run"];`, "start Deno with `denoCommand`"],
    ["tests/support/a.ts", `const flag = "--no-lock";`, "`--no-lock`"],
    ["scripts/a.ts", `const args = ["run", "--no-config"];`, "`--no-config`"],
    ["tests/a_test.ts", `new Deno.Command("npm", { args: ["install"] });`, "add it to scripts/testrun/setup.ts"],
  ];
  for (const [path, code, part] of refused) {
    assertEquals(objections(path, code), ["deno-starts"], code);
    assertStringIncludes(message(path, code)!, part);
  }
  for (const path of ["src/handlers/isolation/respawn.ts", "scripts/deno_command.ts", "examples/demo.ts"]) {
    assertEquals(objections(path, `start(Deno.execPath(), "--no-lock");`), [], path);
  }
});
