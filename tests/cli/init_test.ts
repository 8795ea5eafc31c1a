/** `jobs init`. tests/binary/executable_test.ts runs it with the executable, too. */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { parseYaml } from "../../src/config/yaml.ts";
import { VERSION } from "../../src/version.ts";
import { jobs, JobsProcess, temporaryFolder } from "../support/process.ts";
import { freePort } from "../support/redis.ts";
import { requireTool } from "../support/tools.ts";

const read = (folder: string, name: string) => Deno.readTextFile(`${folder}/${name}`);
const namesIn = async (folder: string) =>
  (await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name).toSorted();

Deno.test("writes a project whose worker performs a job, and whose test passes as its first line says", async () => {
  requireTool("node");
  await using folder = await temporaryFolder();
  const { code, stdout, stderr } = await jobs(["init", "demo"], { cwd: folder.path });
  assertEquals([code, stderr], [0, ""]);
  assertMatch(stdout, /^Wrote jobs.json, handlers.mjs, handlers.test.mjs, .gitignore to .*\n\nNext:\n {2}cd demo\n/);
  const cwd = `${folder.path}/demo`;
  assertEquals(await namesIn(cwd), [".gitignore", "handlers.mjs", "handlers.test.mjs", "jobs.json"]);
  const settings = JSON.parse(await read(cwd, "jobs.json"));
  assertEquals([settings.store, settings.web.listen], ["sqlite:jobs.db", "127.0.0.1:7433"]);

  const address = `127.0.0.1:${freePort()}`;
  await Deno.writeTextFile(`${cwd}/jobs.json`, JSON.stringify({ ...settings, web: { listen: address } }));
  await using server = new JobsProcess({ store: `sqlite:${cwd}/jobs.db`, cwd });
  assertEquals((await server.logged("Ready")).web, `http://${address}/`);
  const pushed = await jobs(["push", "Greet", "ada", "--wait"], { cwd });
  assertEquals([pushed.stdout, pushed.stderr], ['{"greeted":"ada"}\n', ""]);
  await server.logged("Cron entry defined", { entry: "hourly" });

  const [command, ...args] = (await read(cwd, "handlers.test.mjs")).match(/Run it with `([^`]*)`/)![1]!.split(" ");
  const tested = await new Deno.Command(command!, { args, cwd }).output();
  assertEquals(tested.code, 0, new TextDecoder().decode(tested.stdout));
  assertMatch(new TextDecoder().decode(tested.stdout), /pass 2\n/);
});

Deno.test("overwrites no file, and writes none if one exists", async () => {
  await using folder = await temporaryFolder();
  const cwd = folder.path;
  await Deno.writeTextFile(`${cwd}/.gitignore`, "mine\n");
  await Deno.writeTextFile(`${cwd}/handlers.mjs`, "mine\n");
  const refused = await jobs(["init"], { cwd });
  assertEquals([refused.code, refused.stdout], [2, ""]);
  assertEquals(
    refused.stderr,
    `jobs: handlers.mjs exists in "${cwd}": expected a folder without it; nothing was written\n`,
  );
  assertEquals(await namesIn(cwd), [".gitignore", "handlers.mjs"]);
  await Deno.remove(`${cwd}/handlers.mjs`);
  assertEquals((await jobs(["init"], { cwd })).code, 0);
  assertEquals(await read(cwd, ".gitignore"), "mine\n");
  assertMatch(
    (await jobs(["init", "/dev/null/x"])).stderr,
    /^jobs: Can't write to "\/dev\/null\/x.*": Not a directory\n$/,
  );
  assertMatch(
    (await jobs(["init", "--with", "docker"])).stderr,
    /^jobs: Invalid --with "docker": expected systemd or compose/,
  );
});

Deno.test("files are trusted in a folder that was made with any umask", async () => {
  await using folder = await temporaryFolder();
  const before = Deno.umask(0);
  try {
    assertEquals((await jobs(["init", "open"], { cwd: folder.path })).code, 0);
  } finally {
    Deno.umask(before);
  }
  const { code, stderr } = await jobs(["cron", "check"], { cwd: `${folder.path}/open` });
  assertEquals([code, stderr], [0, ""]);
});

Deno.test("--with compose mounts the folder and a volume for the store of the image", async () => {
  await using folder = await temporaryFolder();
  assertEquals((await jobs(["init", "--with", "compose"], { cwd: folder.path })).code, 0);
  const { services, volumes } = parseYaml(await read(folder.path, "compose.yaml")) as {
    readonly services: { readonly worker: Record<string, unknown> };
    readonly volumes: Record<string, unknown>;
  };
  assertEquals(services.worker["volumes"], [".:/app:ro", "store:/var/lib/jobs"]);
  const image = `jobs:${VERSION}`; // as make image names it
  assertEquals([services.worker["image"], services.worker["command"], Object.keys(volumes)], [image, "run", ["store"]]);
});

Deno.test("--with systemd --with compose writes both, each once", async () => {
  await using folder = await temporaryFolder();
  const args = ["init", "shop", "--with", "systemd", "--with", "compose", "--with=compose"];
  const { code, stdout } = await jobs(args, { cwd: folder.path });
  assertEquals(code, 0);
  assertMatch(stdout, /^ {2}head -6 jobs-shop\.service .*\n {2}docker compose up /m);
  const names = [".gitignore", "compose.yaml", "handlers.mjs", "handlers.test.mjs", "jobs-shop.service", "jobs.json"];
  assertEquals(await namesIn(`${folder.path}/shop`), names);
});

Deno.test("--with systemd writes the packages' unit for the folder and its user", async () => {
  requireTool("systemd-analyze");
  await using folder = await temporaryFolder();
  const cwd = `${folder.path}/50% "off" here`;
  const made = await jobs(["init", cwd, "--with", "systemd"], { cwd: folder.path });
  assertEquals(made.code, 0);
  assertMatch(made.stderr, Deno.uid() === 0 ? /^jobs: the unit runs as root: set User= / : /^$/);
  const name = "jobs-50-off-here.service"; // not that of the package
  const unit = await read(cwd, name);
  assertStringIncludes(unit, `sudo cp ${name} /etc/systemd/system/`);
  for (const kept of ["Type=notify", "TimeoutStopSec=60", "LimitCORE=0", "NoNewPrivileges=yes"]) {
    assertStringIncludes(unit, `\n${kept}\n`);
  }
  assertStringIncludes(unit, "\nPrivateTmp=no\n"); // the folder is in /tmp
  assertStringIncludes(unit, `\nReadWritePaths="${folder.path}/50%% \\"off\\" here"\n`);
  // From the sources, the unit names the `jobs` of a clone, which a copy of the sources lacks.
  await Deno.writeTextFile(`${cwd}/${name}`, unit.replace(/^(Exec\w+=)\S*\/jobs /gm, "$1/bin/true "));
  const verified = await new Deno.Command("systemd-analyze", { args: ["verify", `${cwd}/${name}`] }).output();
  assertEquals([verified.code, new TextDecoder().decode(verified.stderr)], [0, ""]);
});
