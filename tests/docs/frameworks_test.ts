/** The programs of the pages about workers in other runtimes and frameworks, run as they are written. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { dirname } from "node:path";
import { Bench } from "../support/bench.ts";
import { type Block, blocksOf } from "../support/page_runner.ts";
import { JobsProcess } from "../support/process.ts";
import { freePort } from "../support/redis.ts";
import { requirePackage, requireTool } from "../support/tools.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
const CLIENTS = ["node/jobs_client.mjs", "python/jobs_client.py", "ruby/jobs.rb"];

/** A gateway, and a folder with the clients and the files of a section. */
class Section implements AsyncDisposable {
  readonly bench: Bench;
  readonly url: string;
  readonly #gateway: JobsProcess;

  private constructor(bench: Bench, gateway: JobsProcess, url: string) {
    this.bench = bench;
    this.#gateway = gateway;
    this.url = url;
  }

  /** Writes the files of a section of a page. */
  static async open(page: string, title: string): Promise<Section> {
    const text = await Deno.readTextFile(`${ROOT}docs/guides/${page}.md`);
    const section = text.split(/^## /m).find((part) => part.startsWith(`${title}\n`));
    assert(section, `${page}.md has the section ${title}`);
    const bench = await Bench.open();
    const gateway = await bench.server(["--web", "0", "-q", "other"]);
    const url = String((await gateway.logged("Ready"))["web"]).replace(/\/$/, "");
    for (const path of CLIENTS) await Deno.copyFile(`${ROOT}clients/${path}`, `${bench.folder}/${path.split("/")[1]}`);
    const files = blocksOf(section).filter((block): block is Block & { file: string } => block.file !== undefined);
    for (const { file, text } of files) {
      await Deno.mkdir(dirname(`${bench.folder}/${file}`), { recursive: true });
      await Deno.writeTextFile(`${bench.folder}/${file}`, text.replaceAll("http://127.0.0.1:7433", url));
    }
    return new Section(bench, gateway, url);
  }

  /** Starts a worker. */
  async worker(...command: string[]): Promise<JobsProcess> {
    const { url, folder } = this.bench;
    const worker = new JobsProcess({ store: url, command, cwd: folder });
    await worker.logged("Started");
    return worker;
  }

  /** Runs a program, and returns its output. */
  async run(command: string, ...args: string[]): Promise<string> {
    const { success, stdout, stderr } = await new Deno.Command(command, { args, cwd: this.bench.folder }).output();
    assert(success, new TextDecoder().decode(stderr));
    return new TextDecoder().decode(stdout).trim();
  }

  async ended(jid: string) {
    const found = await this.bench.client.result(jid, { signal: AbortSignal.timeout(30_000) });
    assert(found, `${jid} ends`);
    return found;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#gateway[Symbol.asyncDispose]();
    await this.bench[Symbol.asyncDispose]();
  }
}

for (
  const { title, command, file, result } of [
    { title: "Node", command: "node", file: "worker.mjs", result: { month: "2026-11" } },
    { title: "Python", command: "python3", file: "worker.py", result: { month: "2026-11" } },
    { title: "Ruby", command: "ruby", file: "worker.rb", result: undefined },
  ]
) {
  Deno.test(`the worker in ${title} of docs/guides/runtimes.md performs jobs`, async () => {
    requireTool(command);
    await using section = await Section.open("runtimes", title);
    await using _worker = await section.worker(command, file);
    const jid = await section.bench.push("Report", ["2026-11"], { result_ttl: 60 });
    const { queue, log, result: found } = await section.ended(jid);
    assertEquals([queue, log, found], ["reports", ["report of 2026-11"], result]);
  });
}

Deno.test("the ActiveJob program of docs/guides/frameworks.md pushes and performs a job", async () => {
  requireTool("ruby");
  requireTool("ruby-activejob");
  await using section = await Section.open("frameworks", "Rails");
  await using _worker = await section.worker("ruby", "worker.rb");
  const jid = (await section.run("ruby", "push.rb")).split("\n").at(-1)!;
  assertStringIncludes(String((await section.ended(jid)).log), `report of 2026-11, job ${jid}`);
});

/** Makes `jobs-client` and a package importable. */
async function addPackages({ bench: { folder } }: Section, modules?: string): Promise<void> {
  const own = `${folder}/node_modules`;
  await Deno.mkdir(own);
  await Deno.symlink(`${ROOT}clients/node`, `${own}/jobs-client`);
  const names = modules === undefined ? [] : await Array.fromAsync(Deno.readDir(modules), ({ name }) => name);
  for (const name of names) await Deno.symlink(`${modules}/${name}`, `${own}/${name}`);
}

Deno.test("the Express application of docs/guides/frameworks.md pushes, waits and refuses", async () => {
  requireTool("node");
  const modules = await requirePackage("express@5.3.0");
  await using section = await Section.open("frameworks", "Express");
  await addPackages(section, modules);
  await using _worker = await section.worker("node", "worker.mjs");
  const { url: store, folder } = section.bench;
  const port = `${freePort()}`;
  const env = { PORT: port };
  await using _server = new JobsProcess({ store, command: ["node", "server.mjs"], cwd: folder, env });
  const at = `http://127.0.0.1:${port}/reports`;
  const answers = () => fetch(at).then((response) => response.text()).then(() => true, () => false);
  await section.bench.until(answers, "the server listens");
  const call = async (path: string, method = "POST") => {
    const response = await fetch(`${at}/${path}`, { method });
    return [response.status, await response.json()];
  };
  const [status, { jid }] = await call("2026-11");
  assertEquals([status, (await call("2026-11"))[1].jid], [202, jid]);
  assertEquals(await call(jid, "GET"), [200, { state: "succeeded", month: "2026-11", url: "/reports/2026-11.pdf" }]);
  const [refused, { field }] = await call("november");
  assertEquals([refused, field], [422, "args[0]"]);
});

Deno.test("the route of docs/guides/frameworks.md for Next.js pushes, waits and refuses", async () => {
  requireTool("node");
  await using express = await Section.open("frameworks", "Express");
  await addPackages(express);
  await using _worker = await express.worker("node", "worker.mjs");
  await using section = await Section.open("frameworks", "Next.js");
  await addPackages(section);
  const program = `${section.bench.folder}/calls.mjs`;
  await Deno.writeTextFile(
    program,
    `
process.env.JOBS_URL = "${express.url}";
const { GET, POST } = await import("./app/api/reports/route.js");
const call = async (route, url, body) => {
  const answer = await route(new Request(url, body && { method: "POST", body: JSON.stringify(body) }));
  return [answer.status, await answer.json()];
};
const at = "http://localhost/api/reports";
const [status, { jid }] = await call(POST, at, { month: "2026-11" });
console.log(JSON.stringify([status, await call(GET, at + "?jid=" + jid), (await call(POST, at, { month: 5 }))[1]]));`,
  );
  assertEquals(JSON.parse(await section.run("node", program)), [
    202,
    [200, { state: "succeeded", month: "2026-11", url: "/reports/2026-11.pdf" }],
    { message: "args[0] is 5; expected string", field: "args[0]" },
  ]);
});
