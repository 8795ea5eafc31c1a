/** The proxies of docs/operate/proxy.md and docs/migrate/sidekiq.md, with the pages' configuration. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { until } from "../support/eventually.ts";
import { blocksOf } from "../support/page_runner.ts";
import { jobsCommand } from "../support/command.ts";
import { temporaryFolder } from "../support/process.ts";
import { freePort } from "../support/redis.ts";
import { requireTool } from "../support/tools.ts";

const PAGE = new URL("../../docs/operate/proxy.md", import.meta.url);
const blocks = blocksOf(await Deno.readTextFile(PAGE));
const sample = (name: string) => blocks.find(({ file }) => file === name)!.text;

/** `jobs web` with the page's settings, and a proxy in front of it. */
async function withProxy(
  program: string,
  configure: (site: { folder: string; web: number; front: number }) => Promise<string[]>,
  test: (base: string, web: string) => Promise<void>,
  { settings = sample("jobs.json"), headers = {} }: {
    readonly settings?: string;
    /** Of the first requests. */
    readonly headers?: Readonly<Record<string, string>>;
  } = {},
): Promise<void> {
  requireTool(program);
  await using folder = await temporaryFolder();
  const [web, front] = [freePort(), freePort()];
  const here = settings.replace("7433", `${web}`).replace(/\w+\.example\.com(?=")/, "localhost");
  await Deno.writeTextFile(`${folder.path}/jobs.json`, here);
  const [jobs, ...args] = jobsCommand();
  const quiet = { stdin: "null", stdout: "null", stderr: "null", cwd: folder.path } as const;
  const env = { JOBS_STORE: `sqlite:${folder.path}/jobs.db`, HOME: folder.path, XDG_DATA_HOME: folder.path };
  const dashboard = new Deno.Command(jobs, { args: [...args, "web"], env, ...quiet }).spawn();
  const proxyArgs = await configure({ folder: folder.path, web, front });
  const proxy = new Deno.Command(program, { args: proxyArgs, env, ...quiet }).spawn();
  try {
    const answers = (url: string) =>
      fetch(url, { headers }).then((response) => response.text().then(() => response.ok), () => false);
    await until(() => answers(`http://127.0.0.1:${web}/healthz`));
    await until(() => answers(`http://localhost:${front}/jobs/healthz`));
    await test(`http://localhost:${front}`, `http://127.0.0.1:${web}`);
  } finally {
    for (const child of [proxy, dashboard]) {
      child.kill("SIGTERM");
      await child.status;
    }
  }
}

/** Reads a page, presses the button that pauses all queues, and reads the probes without the prefix. */
async function use(base: string, web: string): Promise<void> {
  const page = await fetch(`${base}/jobs/queues`);
  assertEquals([page.status, /(href|src)="\/(?!jobs)/.test(await page.text())], [200, false]);
  const headers = { origin: base, "content-type": "application/json" };
  const pushed = await fetch(`${base}/jobs/api/v1/jobs`, { method: "POST", headers, body: '{"class":"Greet"}' });
  assertEquals(pushed.status, 201, await pushed.text());
  const events = await fetch(`${base}/jobs/events`, { signal: AbortSignal.timeout(60_000) });
  const reader = events.body!.getReader();
  assert((await reader.read()).value!.length > 0); // the proxy doesn't buffer it
  await reader.cancel();
  for (const path of ["/healthz", "/readyz", "/metrics", "/jobs/metrics"]) {
    const response = await fetch(`${web}${path}`);
    assertEquals([path, response.status], [path, 200], await response.text());
  }
}

function nginxConfig(location: string, folder: string, front: number): string {
  return `daemon off; pid ${folder}/nginx.pid; error_log ${folder}/error.log; events {}
http { access_log off; client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy; fastcgi_temp_path ${folder}/f;
uwsgi_temp_path ${folder}/u; scgi_temp_path ${folder}/s; server { listen ${front}; ${location} } }`;
}

const nginx = (change: (sample: string) => string) => async (site: { folder: string; web: number; front: number }) => {
  const config = `${site.folder}/nginx.conf`;
  const location = change(sample("nginx.conf")).replace("7433", `${site.web}`);
  await Deno.writeTextFile(config, nginxConfig(location, site.folder, site.front));
  return ["-c", config, "-p", site.folder];
};

Deno.test("nginx serves the dashboard under a path, with the page's configuration", async () => {
  await withProxy("nginx", nginx((sample) => sample), use);
});

Deno.test("a proxy that drops the port from the host gets a hint", async () => {
  await withProxy("nginx", nginx((sample) => sample.replace("$http_host", "$host")), async (base) => {
    const headers = { origin: base, "content-type": "application/json" };
    const refused = await fetch(`${base}/jobs/api/v1/jobs`, { method: "POST", headers, body: '{"class":"Greet"}' });
    assertEquals(refused.status, 403);
    assertMatch(
      await refused.text(),
      /forward the Host header with its port \d+ \(nginx: proxy_set_header Host \$http_host\)/,
    );
  });
});

Deno.test("Caddy serves the dashboard under a path, with the page's configuration", async () => {
  await withProxy("caddy", async ({ folder, web, front }) => {
    const caddyfile = sample("Caddyfile").replace("7433", `${web}`).replace(
      "jobs.example.com",
      `http://localhost:${front}`,
    );
    assertStringIncludes(caddyfile, "handle /jobs/*");
    await Deno.writeTextFile(`${folder}/Caddyfile`, `{\n  admin off\n}\n${caddyfile}\n`);
    return ["run", "--config", `${folder}/Caddyfile`, "--adapter", "caddyfile"];
  }, use);
});

Deno.test("nginx asks an application for its user, whose role the dashboard knows, as docs/migrate/sidekiq.md shows", async () => {
  const page = blocksOf(await Deno.readTextFile(new URL("../../docs/migrate/sidekiq.md", import.meta.url)));
  const settings = page.find(({ text }) => text.includes("proxyHeader"))!.text;
  const location = page.find(({ language }) => language === "nginx")!.text;
  // Stands for Rails: the session is the name of the user.
  await using rails = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
    const user = request.headers.get("cookie")?.match(/^session=(\S+)$/)?.[1];
    if (new URL(request.url).pathname !== "/jobs-user" || user === undefined) {
      return new Response(null, { status: 401 });
    }
    return new Response(null, { headers: { "x-jobs-user": user } });
  });
  const configure = nginx(() => location.replace("3000", `${rails.addr.port}`));
  const as = (user: string) => ({ cookie: `session=${user}` });
  await withProxy("nginx", configure, async (base) => {
    const push = async (headers: Record<string, string>) => {
      const json = { origin: base, "content-type": "application/json", ...headers };
      const { status, body } = await fetch(`${base}/jobs/api/v1/jobs`, {
        method: "POST",
        headers: json,
        body: '{"class":"A"}',
      });
      await body?.cancel();
      return status;
    };
    assertEquals(await push({}), 401);
    assertEquals(await push({ "x-forwarded-user": "ann@example.com" }), 401);
    assertEquals(await push({ ...as("bob@example.com"), "x-forwarded-user": "ann@example.com" }), 403);
    assertEquals(await push(as("ann@example.com")), 201);
    const queues = await fetch(`${base}/jobs/queues`, { headers: as("bob@example.com") });
    assertEquals(queues.status, 200, await queues.text());
  }, { settings, headers: as("bob@example.com") });
});
