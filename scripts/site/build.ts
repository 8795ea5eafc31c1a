/**
 * `make docs`: the documentation as a site, in `dist/docs`, with search.
 *
 *     deno run -A scripts/site/build.ts [--output dist/docs] [--pages FOLDER] [--pages-only]
 *
 *  1. The pages of `docs/` are copied, and those made from the program are added: a page per command from its help text, the
 *     HTTP API from the OpenAPI document, the library from its docstrings.
 *  2. VitePress, which npm installs into `.deno/site` in the version of the lock file in `npm/`, builds the site. A
 *     dead link fails the build.
 *
 * @module
 */
import { parseArgs } from "@std/cli/parse-args";
import { dirname, join, resolve } from "node:path";
import { COMMAND_GROUPS } from "../../src/cli/commands_table.ts";
import { commandPage, httpPage, libraryPage } from "./generated_pages.ts";

const ROOT = resolve(import.meta.dirname!, "../..");
const CACHE = join(ROOT, ".deno");
await Deno.mkdir(CACHE, { recursive: true });
/** Without symbolic links: VitePress compares paths of pages. */
const SITE = join(await Deno.realPath(CACHE), "site");
const PAGES = join(SITE, "pages");
/** A folder apart: a package.json next to modules would change how Deno resolves their imports. */
const NPM = join(import.meta.dirname!, "npm");

/** Returns the throughput as the page "Why jobs" has it. */
async function figures(): Promise<string> {
  const page = await Deno.readTextFile(join(ROOT, "docs/start/why.md"));
  const [, sqlite, redis] =
    /^\| no-op jobs, one process, concurrency 10, jobs\/s +\| ([\d,]+) +\| ([\d,]+) +\|$/m.exec(page) ?? [];
  if (redis === undefined) throw new Error("docs/start/why.md has no throughput at concurrency 10");
  return `${sqlite} no-op jobs/s on SQLite, ${redis} on Redis, on 2 cores.`;
}

const HOME = `---
layout: home
hero:
  name: jobs
  text: Background jobs in one executable
  tagline: Enqueue, schedule, retry, cron, dashboard. On SQLite, on PostgreSQL, or on Redis in Sidekiq's format.
  actions:
    - { theme: brand, text: Quickstart, link: /start/quickstart }
    - { theme: alt, text: Why jobs, link: /start/why }
    - { theme: alt, text: Install, link: /start/install }
features:
  - { title: Durable, details: "A push that returns is stored. A job whose worker is killed runs again within 30 s." }
  - { title: Fast, details: "${await figures()}" }
  - { title: Complete, details: "Retries, cron, unique jobs, limits, workflows, timeouts, results, metrics and traces." }
  - { title: Any language, details: "Handlers in JavaScript, TypeScript or any program; workers in Node, Python and Ruby. Push over HTTP or with a Sidekiq client." }
---
`;

/** Copies the pages, and writes those that are made from the program. */
async function writePages(): Promise<void> {
  await Deno.remove(PAGES, { recursive: true }).catch(() => {});
  await run("cp", ["-R", join(ROOT, "docs"), PAGES]);
  await write("index.md", HOME);
  await write("changelog.md", await Deno.readTextFile(join(ROOT, "CHANGELOG.md")));
  const commands: { text: string; link: string }[] = [];
  for (const [name, [about, load]] of Object.values(COMMAND_GROUPS).flatMap((group) => Object.entries(group))) {
    await write(`reference/cli/${name}.md`, commandPage(name, about, await load()));
    commands.push({ text: `jobs ${name}`, link: `/reference/cli/${name}` });
  }
  await write("reference/http-api.md", await httpPage());
  await write("reference/library-api.md", await libraryPage(ROOT));
  for (const file of ["config.mjs", "slug.mjs"]) await copy(file);
  await write(".vitepress/generated.json", JSON.stringify({ commands }));
}

async function write(path: string, text: string): Promise<void> {
  const to = join(PAGES, path);
  await Deno.mkdir(dirname(to), { recursive: true });
  await Deno.writeTextFile(to, text);
}

async function copy(file: string): Promise<void> {
  await write(`.vitepress/${file}`, await Deno.readTextFile(join(import.meta.dirname!, file)));
}

/** Installs VitePress, unless the locked version is there. */
async function install(): Promise<void> {
  const lock = await Deno.readTextFile(join(NPM, "package-lock.json"));
  const installed = await Deno.readTextFile(join(SITE, "installed.json")).catch(() => "");
  if (installed === lock) return;
  for (const file of ["package.json", "package-lock.json"]) {
    await Deno.copyFile(join(NPM, file), join(SITE, file));
  }
  await run("npm", ["install", "--no-audit", "--no-fund", "--loglevel=error"], SITE);
  await Deno.writeTextFile(join(SITE, "installed.json"), lock);
}

async function run(program: string, args: string[], cwd: string = ROOT): Promise<void> {
  const { success } = await new Deno.Command(program, { args, cwd, stdin: "null" }).spawn().status;
  if (!success) throw new Error(`${program} ${args.join(" ")} failed`);
}

if (import.meta.main) {
  const flags = parseArgs(Deno.args, { string: ["output", "pages"], boolean: ["pages-only"] });
  const { output = join(ROOT, "dist/docs"), pages } = flags as Record<string, string | undefined>;
  await Deno.mkdir(SITE, { recursive: true });
  await writePages();
  if (pages !== undefined) await run("cp", ["-R", PAGES, resolve(pages)]);
  if (!flags["pages-only"]) {
    await install();
    await run(join(SITE, "node_modules/.bin/vitepress"), ["build", PAGES, "--outDir", resolve(output)], SITE);
    console.log(`${output}: open it with any web server, for example npx serve dist/docs`);
  }
}
