/**
 * Secrets stay where they are set. Each place that takes one has a mark: no command, page, reply, dump or log has one, with the log
 * level debug.
 */
import { assertEquals } from "@std/assert";
import { newToken, passwordSecret } from "../../src/web/auth/accounts.ts";
import { answerText, HttpEndpoint } from "../support/http_endpoint.ts";
import { until } from "../support/eventually.ts";
import { startPostgres } from "../support/postgres.ts";
import { type CommandResult, jobs, JobsProcess, temporaryFolder } from "../support/process.ts";
import { freePort, startRedis } from "../support/redis.ts";
import { PAGES } from "../web/site.ts";

/** Returns the secret of a place: a text that nothing else has. */
const mark = (place: string) => `hunter2.${place}.zq9x`;
const whsec = (place: string) => `whsec_${btoa(mark(place).padEnd(32, "x"))}`;

/** The marks, as they are and in base64. */
const MARK = /hunter2\.([\w-]+)\.zq9x|aHVudGVyMi[A-Za-z0-9+/]*|h1bnRlcjIu[A-Za-z0-9+/]*|odW50ZXIyL[A-Za-z0-9+/]*/g;

/** Everything that was printed, logged or served, by where. */
class Outputs {
  readonly #found: string[] = [];
  #chars = 0;

  add(where: string, text: string): void {
    this.#chars += text.length;
    for (const [found] of text.matchAll(MARK)) {
      const at = text.indexOf(found);
      this.#found.push(`${where}: …${text.slice(Math.max(0, at - 80), at + found.length + 20)}…`);
    }
  }

  addResult(where: string, { stdout, stderr }: CommandResult): void {
    this.add(where, `${stdout}\n${stderr}`);
  }

  check(minChars: number): void {
    assertEquals([...new Set(this.#found)], []);
    assertEquals(this.#chars > minChars, true, `only ${this.#chars} characters were looked at`);
  }
}

/** Commands that read, with `JID` for the jid of a dead job. */
const READING: readonly string[] = [
  "doctor --measure 0s --settings",
  "dump --all",
  "doctor --ready",
  "stats",
  "queues",
  "workers",
  "list queued",
  "list scheduled",
  "list retrying",
  "list running",
  "list dead",
  "list finished",
  "list waiting",
  "list signals",
  "find Login",
  "show JID",
  "steps JID",
  "errors",
  "top",
  "cron list",
  "cron check",
  "cron history nightly",
  "batch list",
  "flow list",
  "limit",
  "outbox",
];

const HANDLERS = `
  export function Login() {}
  export function Broken() { throw new Error("GET https://ann:${mark("error-url")}@example.com: token=${
  mark("error")
}"); }
`;

/** Starts a dashboard's worker with a secret in each place, and looks everywhere. */
async function lookEverywhere(store: string, outputs: Outputs, commands: readonly string[]): Promise<void> {
  await using folder = await temporaryFolder();
  await using endpoint = await HttpEndpoint.open((_request, { write }) => write(answerText(500, "no")));
  const [port, token] = [freePort(), newToken()];
  const connection = (place: string) => ({
    url: `${endpoint.url}?token=${mark(`${place}-url`)}`,
    secret: whsec(`${place}-secret`),
    headers: { authorization: `Bearer ${mark(`${place}-header`)}`, "x-key": mark(`${place}-header-2`) },
    allowPrivate: true,
  });
  const config = {
    store,
    handlers: [`${folder.path}/handlers.js`],
    exec: [{ class: "Program", exec: ["sh", "-c", "exit 3"], env: { API_TOKEN: mark("env") }, retry: 0 }],
    http: [
      { class: "Hook", ...connection("http"), retry: 0 },
      { class: "Away", ...connection("away"), url: `http://127.0.0.1:1/?token=${mark("away-url")}`, retry: 0 },
    ],
    webhooks: [{ name: "events", ...connection("webhook"), on: ["dead", "succeeded"], retry: 0 }],
    outbox: `postgres://ann:${mark("outbox")}@127.0.0.1:1/app`,
    cron: [{ name: "nightly", class: "Login", every: "1h", args: [{ password: mark("cron") }] }],
    web: { users: [`ann:operator:${await passwordSecret(mark("password"))}`, `ci:operator:${token.secret}`] },
    retention: { succeeded: "1h" },
  };
  const text = JSON.stringify(config);
  await Deno.writeTextFile(`${folder.path}/jobs.json`, text);
  await Deno.writeTextFile(`${folder.path}/handlers.js`, HANDLERS);
  const env = {
    JOBS_LOG_LEVEL: "debug",
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://ann:${mark("trace-login")}@127.0.0.1:1`,
    OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer ${mark("trace-header")}`,
    OTEL_BSP_SCHEDULE_DELAY: "50",
  };
  const run = async (line: string, more: Record<string, string> = {}) => {
    const result = await jobs(line.split(" "), { env: { ...env, ...more }, cwd: folder.path });
    outputs.addResult(line, result);
    return result;
  };
  const [program, ...command] = (await import("../support/command.ts")).jobsCommand();
  const worker = new JobsProcess({
    store,
    command: [program!, ...command, "run", "--web", `127.0.0.1:${port}`],
    env,
    cwd: folder.path,
  });
  await using _worker = worker;
  await worker.logged("Ready");

  const push = async (name: string, args: unknown[]) =>
    (await jobs(["push", name, JSON.stringify(args), "--retry", "0"], { env, cwd: folder.path })).stdout.trim();
  const secret = [{ password: mark("args"), n: 1 }];
  const jids = await Promise.all(["Broken", "Login", "Program", "Hook", "Away"].map((name) => push(name, secret)));
  await worker.logged("Failed for good, moved to dead", {}, 4);

  await Promise.all(commands.flatMap((line) => {
    const named = line.replace("JID", jids[0]!);
    return [run(named), run(`${named} --json`)];
  }));
  worker.kill("SIGTTIN");
  await until(() => worker.lines.some(({ msg }) => msg.startsWith("busy ")), "it has logged its dump");

  const get = async (path: string, headers: Record<string, string> = {}) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers, redirect: "manual" });
    outputs.add(path, `${JSON.stringify([...response.headers])}\n${await response.text()}`);
  };
  // The page of events never ends.
  const pages = PAGES.filter((path) => path !== "/events");
  for (const path of [...pages, ...jids.flatMap((jid) => [`/jobs/${jid}`, `/api/v1/jobs/${jid}`])]) {
    await get(path, { authorization: `Bearer ${token.token}` });
  }
  for (const wrong of [`Bearer ${mark("wrong-token")}`, `Basic ${btoa(`ann:${mark("wrong-password")}`)}`]) {
    for (const path of ["/", "/metrics", "/api/v1/stats"]) await get(path, { authorization: wrong });
  }
  const login = await fetch(`http://127.0.0.1:${port}/login`, {
    method: "POST",
    body: new URLSearchParams({ user: "ann", password: mark("wrong-login") }),
  });
  outputs.add("/login", await login.text());

  // Its configuration has a mistake: the log names the place.
  for (const wrong of [text.replace('"outbox":"', '"outbox":'), text.replace('"http":[', '"http":[7,')]) {
    await Deno.writeTextFile(`${folder.path}/jobs.json`, wrong);
    await run("stats");
    worker.kill("SIGHUP");
  }
  await worker.logged("Request failed", { asked: "reload" }, 2);
  worker.kill("SIGTERM");
  await worker.status();
  const logged = worker.lines.map((line) => JSON.stringify(line));
  // The message of an error is that of the handler.
  outputs.add("log", logged.filter((line) => !line.includes("GET https://ann:")).join("\n"));
}

Deno.test("no output of a Redis store has a secret of the configuration, the environment or a request", async () => {
  await using redis = await startRedis({ config: { requirepass: mark("redis") } });
  const outputs = new Outputs();
  await lookEverywhere(`redis://:${mark("redis")}@127.0.0.1:${redis.port}/0`, outputs, READING);
  outputs.check(100_000);
});

Deno.test("no output of a PostgreSQL store has a secret of the configuration, the environment or a request", async () => {
  await using postgres = await startPostgres();
  const outputs = new Outputs();
  const url = new URL(postgres.url(await postgres.create()));
  url.password = mark("postgres");
  // The texts about jobs don't depend on the store.
  await lookEverywhere(url.href, outputs, ["doctor --measure 0s --settings", "workers", "schema", "dump --all"]);
  outputs.check(100_000);
});

Deno.test("no error about a store has its password: refused, unreachable, misspelt", async () => {
  await using redis = await startRedis({ config: { requirepass: "another" } });
  await using postgres = await startPostgres();
  const [secret, closed] = [mark("store"), freePort()];
  const stores = [
    `redis://:${secret}@127.0.0.1:${redis.port}/0`,
    `redis://ann:${secret}@127.0.0.1:${redis.port}/0`,
    `redis://:${secret}@127.0.0.1:${closed}/0`,
    `redis://ann:${secret}`,
    `redis:ann:${secret}@127.0.0.1`,
    `rediss://:${secret}@127.0.0.1:${redis.port}/0`,
    `redis://:${secret}@127.0.0.1:${redis.port}/zero`,
    `redis://:${secret}/${secret}@127.0.0.1:${redis.port}/0`,
    `redis+sentinel://:${secret}@127.0.0.1:${closed}/mymaster?sentinelPassword=${secret}`,
    `postgres://ann:${secret}@127.0.0.1:${postgres.port}/none`,
    `postgres://ann:${secret}@127.0.0.1:${closed}/none`,
    `postgres://ann:${secret}@127.0.0.1:${postgres.port}/none?sslmode=maybe&password=${secret}`,
    `postgress://ann:${secret}@127.0.0.1/none`,
    `ann:${secret}@127.0.0.1`,
    `mysql://ann:${secret}@127.0.0.1/none`,
  ];
  const outputs = new Outputs();
  await using folder = await temporaryFolder();
  await Promise.all(stores.map(async (store) => {
    const env = { JOBS_STORE: store, JOBS_LOG_LEVEL: "debug" };
    const run = async (...args: string[]) =>
      outputs.addResult(
        `${args.join(" ")} on ${store.replaceAll(secret, "…")}`,
        await jobs(args, { env, cwd: folder.path }),
      );
    const other = `sqlite:${folder.path}/other.db`;
    await run("stats");
    await run("doctor", "--settings");
    await run("migrate", "--from", store, "--to", other);
  }));
  outputs.check(5_000);
});
