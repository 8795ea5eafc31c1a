/** A configuration file that lies in the working directory, and wasn't named. */
import { assertEquals, assertMatch } from "@std/assert";
import { jobs, temporaryFolder } from "../support/process.ts";

Deno.test("reads no configuration, and runs no handlers, that other users can change, unless the file is named", async () => {
  await using folder = await temporaryFolder();
  const cwd = `${folder.path}/shared`;
  await Deno.mkdir(`${cwd}/safe`, { recursive: true });
  const settings = { store: `sqlite:${folder.path}/jobs.db`, handlers: ["work.js"] };
  const module = `Deno.writeTextFileSync("${folder.path}/ran", ""); export function Work() {}`;
  for (const place of [cwd, `${cwd}/safe`]) {
    await Deno.writeTextFile(`${place}/jobs.json`, JSON.stringify(settings));
    await Deno.writeTextFile(`${place}/work.js`, module);
  }
  await Deno.chmod(cwd, 0o1777);
  await Deno.chmod(`${cwd}/safe/work.js`, 0o666);
  const hasRun = () => Deno.stat(`${folder.path}/ran`).then(() => true, () => false);
  const refused =
    /^jobs: Configuration file "jobs.json" in the working directory isn't trusted: its folder is writable by/;
  for (const command of [["doctor"], ["push", "Work"]]) {
    const { code, stdout, stderr } = await jobs(command, { cwd });
    assertEquals([code, stdout, stderr.trim().split("\n").length], [2, "", 1], stderr);
    assertMatch(stderr, refused);
  }
  const run = await jobs(["run"], { cwd: `${cwd}/safe` });
  assertEquals([run.code, await hasRun()], [2, false], run.stderr);
  assertMatch(run.stderr, /^jobs: Handlers "work.js" of jobs.json, .* aren't trusted: it is writable by all users; /);
  assertEquals((await jobs(["doctor", "--config", "jobs.json"], { cwd })).stderr, "");
  assertEquals(await hasRun(), true);
});
