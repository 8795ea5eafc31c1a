/** The executable: its content, and behaviour that may differ from the sources. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { Bench } from "../support/bench.ts";
import { Collector } from "../support/collector.ts";
import { pinnedDeno, runHere, useExecutable } from "../support/command.ts";
import { jobs, temporaryFolder } from "../support/process.ts";
import { freePort, startRedis } from "../support/redis.ts";
import { importTests } from "../support/selected.ts";
import { denoCommand, outputOf } from "../../scripts/deno_command.ts";

const binary = await useExecutable();
const runtime = await runHere("scripts/test-denort.sh", []);
const { deno } = JSON.parse((await jobs(["version", "--json"])).stdout) as { deno: string };

await importTests([
  "writes a project whose worker performs a job, and whose test passes as its first line says",
  "--with systemd writes the packages' unit for the folder and its user",
], () => import("../cli/init_test.ts"));

Deno.test("the executable adds little to the runtime, and only files of the project", async () => {
  const size = (await Deno.stat(binary)).size - (await Deno.stat(runtime)).size;
  assert(size < 4_000_000, `${size} bytes are embedded; expected less than 4 MB`);
  const bytes = await Deno.readFile(binary);
  const embedded = new TextDecoder("latin1").decode(bytes.subarray(bytes.length - size));
  const { denoDir } = JSON.parse((await outputOf(denoCommand("info", "--json"))).stdout);
  for (const foreign of ["node_modules/", "/cron-parser/", denoDir, Deno.cwd()]) {
    assert(!embedded.includes(foreign), `${foreign} is in the executable`);
  }
});

Deno.test("the same sources make the same executable in any folder", async () => {
  const root = new URL("../../", import.meta.url).pathname;
  await using folder = await temporaryFolder();
  for (const name of ["main.ts", "src", "packaging", "scripts", "deno.json", "deno.lock"]) {
    await runHere("cp", ["-r", `${root}${name}`, folder.path]);
  }
  // The repository is here, so that the commit is the same.
  const env = { DENORT_BIN: runtime, GIT_DIR: `${root}.git`, GIT_WORK_TREE: root };
  const output = `${folder.path}/jobs`;
  const compile = ["run", "-A", `${folder.path}/scripts/compile.ts`, "--any-runtime"];
  await runHere(await pinnedDeno(), [...compile, "--output", output], env);
  await runHere("cmp", [binary, output]);
});

Deno.test("the version names the commit", async () => {
  const commit = await runHere("git", ["describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]);
  const { stdout } = await jobs(["version"]);
  assertMatch(stdout, new RegExp(`^jobs \\d+\\.\\d+\\.\\d+ \\(${commit}, deno ${deno}, ${Deno.build.target}\\)\n$`));
  assertEquals(JSON.parse((await jobs(["version", "--json"])).stdout).commit, commit);
});

Deno.test("jobs push loads neither the other store's client, nor the server, the logger or tracing", async () => {
  const graph = JSON.parse((await outputOf(denoCommand("info", "--json", "main.ts"))).stdout) as ModuleGraph;
  const modules = new Map(graph.modules.map((module) => [module.specifier, module]));
  const roots = graph.modules.map((module) => module.specifier).filter((specifier) =>
    /\/(main|src\/cli\/commands\/push|src\/store\/sqlite\/open)\.ts$/.test(specifier)
  );
  assertEquals(roots.length, 3);
  const loaded = new Set(roots);
  for (const specifier of loaded) {
    for (const { code, isDynamic } of modules.get(specifier)?.dependencies ?? []) {
      if (code?.specifier && !isDynamic) loaded.add(code.specifier);
    }
  }
  assert(loaded.size > 20, "the graph was read");
  const costly = [...loaded].filter((one) =>
    /redis|logtape|opentelemetry|hono|croner|yaml|\/server\/|\/web\/|\/log\.ts/.test(one)
  );
  assertEquals(costly, []);
});

interface ModuleGraph {
  readonly modules: readonly {
    readonly specifier: string;
    readonly dependencies?: readonly {
      readonly code?: { readonly specifier?: string };
      readonly isDynamic?: boolean;
    }[];
  }[];
}

for (const kind of ["SQLite", "Redis"]) {
  Deno.test(`on ${kind}, a job pushed by one process is performed by another, with its heartbeat in a thread`, async () => {
    await using redis = kind === "Redis" ? await startRedis() : undefined;
    await using bench = await Bench.open(redis?.url);
    await using server = await bench.server(["-c", "1"]);
    const { stdout } = await jobs(["push", "Hold", bench.notes, "--store", bench.url]);
    await bench.noted(`start ${stdout.trim()}`);
    const heartbeat = async () => (await bench.store.workers.list())[0]!.heartbeatAt;
    // While the handler blocks the event loop, only the thread can send heartbeats.
    for (let i = 0; i < 2; i++) {
      const before = await heartbeat();
      await bench.until(async () => await heartbeat() > before, "a heartbeat comes");
    }
    await bench.go();
    await bench.noted(`end ${stdout.trim()}`);
    await server.logged("Done");
  });
}

Deno.test("the executable serves the dashboard with all files that its pages link to", async () => {
  await using bench = await Bench.open();
  await using server = await bench.server(["--web", `127.0.0.1:${freePort()}`]);
  const { web } = await server.logged("Ready");
  const page = await (await fetch(String(web))).text();
  const links = [...page.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)].map((match) => match[1]!);
  assert(links.length >= 3, page);
  for (const link of links) {
    const answer = await fetch(new URL(link, String(web)));
    assertEquals([answer.status, (await answer.text()).length > 100], [200, true], link);
  }
});

Deno.test("the executable exports traces in both protocols", async () => {
  await using bench = await Bench.open();
  await using collector = new Collector();
  await using _server = await bench.server(["--isolate", "Noop"], collector.env);
  const pushed = await jobs(["push", "Noop", "--store", bench.url], { env: collector.env });
  const send = await collector.span("send default", pushed.stdout.trim());
  const process = await collector.span("process default", pushed.stdout.trim());
  assertEquals(process.links.map(({ spanId }) => spanId), [send.spanId]);

  const { promise: taken, resolve } = Promise.withResolvers<string>();
  await using other = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (request) => {
    resolve(`${request.headers.get("content-type")} ${await request.text()}`);
    return new Response(null, { headers: { "content-type": "application/x-protobuf" } });
  });
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${other.addr.port}` };
  const { stderr } = await jobs(["push", "Noop", "--store", bench.url], { env });
  assert(!stderr.includes("Traces"), stderr);
  assertMatch(await taken, /^application\/x-protobuf [^]*send default[^]*messaging\.message\.id/);
});

Deno.test("handlers in TypeScript load, or one line has the reason and how to bundle them", async () => {
  await using bench = await Bench.open();
  const file = `${bench.folder}/handlers.ts`;
  await Deno.writeTextFile(file, "export const Typed = (ctx: { jid: string }): void => {};\n");
  const { code, stdout, stderr } = await jobs(["doctor", file, "--store", bench.url]);
  const [major, minor, patch] = deno.split(".").map(Number) as [number, number, number];
  if (major > 2 || minor > 8 || (minor === 8 && patch >= 2)) {
    assertEquals(code, 0, stderr);
    assertMatch(stdout, /handlers +ok +Typed/);
    return;
  }
  const started = await jobs(["run", file, "--store", bench.url]);
  assertEquals(started.code, 1);
  assertMatch(
    started.stderr,
    /^jobs: Handlers ".*\/handlers\.ts" cannot be loaded: .*: bundle it with "npx esbuild .*handlers\.ts --bundle --platform=node --outfile=handlers\.cjs"\)\n$/,
  );
  // The hint works.
  await runHere(await pinnedDeno(), ["bundle", "--quiet", file, "-o", `${bench.folder}/handlers.js`]);
  assertMatch(
    (await jobs(["doctor", `${bench.folder}/handlers.js`, "--store", bench.url])).stdout,
    /ok +handlers +Typed/,
  );
});

Deno.test("handlers with a missing import cause one line that names both", async () => {
  await using bench = await Bench.open();
  const file = `${bench.folder}/handlers.js`;
  for (const [specifier, hint] of [["./gone.js", ""], ["left-pad", "bundle"], ["npm:left-pad", "bundle"]] as const) {
    await Deno.writeTextFile(file, `import "${specifier}";\nexport function Never() {}\n`);
    const { code, stdout, stderr } = await jobs(["run", file, "--store", bench.url]);
    assertEquals([code, stdout], [1, ""]);
    assertMatch(stderr, /^jobs: Handlers ".*\/handlers\.js" cannot be loaded: [^\n]+\n$/);
    assert(stderr.includes(specifier.replace("./", "").replace("npm:", "")), stderr);
    assert(stderr.includes(hint), stderr);
  }
});

Deno.test("compiling with a runtime without time zones keeps the earlier executable, and names the way", async () => {
  await using folder = await temporaryFolder();
  await Deno.writeTextFile(`${folder.path}/jobs`, "earlier");
  const { code, stderr } = await new Deno.Command(await pinnedDeno(), {
    args: ["run", "-A", "scripts/compile.ts", "--output", `${folder.path}/jobs`],
    env: { DENORT_BIN: await Deno.realPath("/bin/false") }, // a program to which the files can be appended
  }).output();
  assertEquals(code, 1);
  assertMatch(
    new TextDecoder().decode(stderr),
    /^The executable can't read time zones, .*: set DENORT_BIN .*ANY_RUNTIME=1/,
  );
  assertEquals((await Array.fromAsync(Deno.readDir(folder.path))).map(({ name }) => name), ["jobs"]);
  assertEquals(await Deno.readTextFile(`${folder.path}/jobs`), "earlier");
});

Deno.test("compiling fails with a runtime that is missing or for another machine", async () => {
  await using folder = await temporaryFolder();
  const arch = Deno.build.arch === "x86_64" ? "aarch64" : "x86_64";
  const { denoDir } = JSON.parse((await outputOf(denoCommand("info", "--json"))).stdout);
  const compile = async (env: Record<string, string>) => {
    const { code, stderr } = await new Deno.Command(await pinnedDeno(), {
      args: [
        "run",
        "-A",
        "scripts/compile.ts",
        "--target",
        `${arch}-unknown-linux-gnu`,
        "--output",
        `${folder.path}/jobs`,
      ],
      clearEnv: true, // this machine may have DENORT_BIN
      env: { PATH: Deno.env.get("PATH")!, HOME: Deno.env.get("HOME")!, DENO_DIR: denoDir, ...env },
    }).output();
    return { code, stderr: new TextDecoder().decode(stderr) };
  };
  const wrong = await compile({ DENORT_BIN: runtime });
  assertEquals(wrong, {
    code: 1,
    stderr: `The runtime "${runtime}" is for ${Deno.build.arch}, but the target is ${arch}-unknown-linux-gnu: ` +
      "give one for the target\n",
  });
  const gone = await compile({ DENORT_BIN: `${folder.path}/denort` });
  assertEquals(gone.code, 1);
  assertMatch(gone.stderr, /^Can't compile with the runtime ".*\/denort": expected /);
  // Nothing listens at this address: the download fails.
  const offline = await compile({ HTTPS_PROXY: "http://127.0.0.1:9" });
  assertEquals(offline.code, 1);
  assertMatch(
    offline.stderr,
    /^Can't download Deno's runtime, .*: set DENORT_BIN to the file denort of Deno [\d.]+ for/,
  );
  assertEquals(
    (await Array.fromAsync(Deno.readDir(folder.path))).map((entry) => entry.name).filter((name) => name !== "deno"),
    [],
  );
});
