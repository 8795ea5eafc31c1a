/**
 * A dashboard for tests on a new store, and a visitor who keeps cookies and fills in forms as a browser does.
 *
 * @module
 */
import { randomBytes, scryptSync } from "node:crypto";
import { type Clock, systemClock } from "../../src/clock.ts";
import { openStore } from "../../src/store/open.ts";
import { WAIT_MS } from "../../src/web/operations.ts";
import { createWeb, type Web, type WebOptions } from "../../src/web/web.ts";
import { writeEmptyStore } from "../support/empty_store.ts";
import { startRedis } from "../support/redis.ts";
import { sharedRedisUrl, shareRedis } from "../support/shared_redis.ts";
import { HtmlPage } from "./html_page.ts";
import type { Store } from "../../src/store/admin/store.ts";
import type { WorkerRecord } from "../../src/store/port/workers.ts";

/** A dashboard with its store. */
export interface Site extends AsyncDisposable {
  readonly store: Store;
  /** The store's address. */
  readonly url: string;
  readonly web: Web;
  /** A visitor without cookies. */
  visitor(peer?: string): Visitor;
}

/** Options of a site. `storeClock` is the store's clock alone. */
export type SiteOptions = Partial<WebOptions> & { readonly deadMaxJobs?: number; readonly storeClock?: Clock };

/** The system's clock, except that an action is awaited to its end, however slow the machine is. */
export const PATIENT: Clock = {
  ...systemClock,
  sleep: (ms, signal) => systemClock.sleep(ms === WAIT_MS ? 60_000 : ms, signal),
};

/** Every address that shows a part of the store. */
export const PAGES: readonly string[] = [
  "/",
  "/running",
  "/queued",
  "/queues",
  "/queues/default",
  "/scheduled",
  "/signals",
  "/retrying",
  "/dead",
  "/finished",
  "/cron",
  "/classes",
  "/workers",
  "/audit",
  "/settings",
  "/push",
  "/metrics",
  "/events",
  "/search?q=a",
  "/jobs/x",
  "/api/v1/stats",
  "/api/v1/jobs?in=dead",
  "/api/v1/history",
  "/api/v1/audit",
];

/** Opens a dashboard on a fresh store. */
export async function openSite(
  kind: "sqlite" | "redis",
  options: SiteOptions = {},
): Promise<Site> {
  await using stack = new AsyncDisposableStack();
  let url: string;
  if (kind === "redis") url = await sharedRedisUrl() ?? stack.use(await startRedis()).url;
  else {
    const folder = await Deno.makeTempDir({ prefix: "jobs-web-" });
    stack.defer(() => Deno.remove(folder, { recursive: true }));
    await writeEmptyStore(`${folder}/jobs.db`);
    url = `sqlite:${folder}/jobs.db`;
  }
  const { deadMaxJobs, storeClock, ...more } = options;
  const ofStore = { ...(deadMaxJobs !== undefined && { deadMaxJobs }), ...(storeClock && { clock: storeClock }) };
  const store = stack.use(await openStore(url, ofStore));
  const web = stack.use(createWeb({ store, clock: PATIENT, ...more }));
  const kept = stack.move();
  return {
    store,
    url,
    web,
    visitor: (peer = "127.0.0.1") => new Visitor(web, peer),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

/** Registers a test on both stores. */
export function onBothStores(
  name: string,
  test: (site: Site) => Promise<void>,
  options: SiteOptions = {},
): void {
  shareRedis();
  for (const kind of ["sqlite", "redis"] as const) {
    Deno.test(`${name} (${kind})`, async () => {
      await using site = await openSite(kind, options);
      await test(site);
    });
  }
}

/** A response to a visitor. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** A visitor with a browser. */
export class Visitor {
  readonly cookies: Map<string, string> = new Map();
  readonly #web: Web;
  readonly #peer: string;

  /** A visitor at that address. */
  constructor(web: Web, peer: string) {
    this.#web = web;
    this.#peer = peer;
  }

  /** Sends a request unchanged, with the cookies. */
  async send(path: string, init: RequestInit = {}): Promise<Answer> {
    const headers = new Headers(init.headers);
    if (!headers.has("host")) headers.set("host", "localhost:7433");
    if (this.cookies.size > 0) {
      headers.set("cookie", [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; "));
    }
    const request = new Request(`http://localhost:7433${path}`, { ...init, headers, redirect: "manual" });
    const response = await this.#web.handle(request, this.#peer);
    for (const cookie of response.headers.getSetCookie()) {
      const [pair = "", ...attributes] = cookie.split(";");
      const at = pair.indexOf("=");
      const isGone = attributes.some((one) => /^\s*max-age=0$/i.test(one));
      if (isGone) this.cookies.delete(pair.slice(0, at));
      else this.cookies.set(pair.slice(0, at), pair.slice(at + 1));
    }
    return { status: response.status, headers: response.headers, text: await response.text() };
  }

  /** Opens a page. */
  visit(path: string): Promise<Answer> {
    return this.send(path);
  }

  /** Opens a page in order to fill in its fields and press its buttons. */
  async open(path: string): Promise<HtmlPage> {
    return new HtmlPage(this, await this.send(path));
  }

  /** Sends a form from the page `from`, with its token, and opens the page that follows. */
  async submit(path: string, fields: Record<string, string | readonly string[]>, from = "/"): Promise<Answer> {
    const token = /name="token" value="([^"]+)"/.exec((await this.visit(from)).text)?.[1] ?? "";
    const body = new URLSearchParams({ token, back: from });
    for (const [name, value] of Object.entries(fields)) {
      for (const one of typeof value === "string" ? [value] : value) body.append(name, one);
    }
    const answer = await this.send(path, {
      method: "POST",
      body,
      headers: { "sec-fetch-site": "same-origin" },
    });
    const location = answer.headers.get("location");
    return answer.status === 303 && location !== null ? await this.visit(location) : answer;
  }

  /** Calls the API. */
  async api(method: "GET" | "POST", path: string, body?: unknown, headers: Record<string, string> = {}) {
    const answer = await this.send(`/api/v1${path}`, {
      method,
      headers: { ...headers, ...(method === "POST" && { "content-type": "application/json" }) },
      ...(method === "POST" && { body: JSON.stringify(body ?? {}) }),
    });
    return { status: answer.status, value: JSON.parse(answer.text) };
  }
}

/** Returns the stored secret for this password, at a thirtieth of the usual cost of checking it. */
export function quickSecret(password: string): string {
  const salt = randomBytes(16);
  const hash = scryptSync(password, salt, 32, { N: 2 ** 10, r: 8, p: 1 });
  return `scrypt$10$${salt.toString("base64url")}$${hash.toString("base64url")}`;
}

/** Puts a job into a queue. */
export async function push(
  store: Store,
  jid: string,
  fields?: Readonly<Record<string, unknown>>,
  delayMs?: number,
): Promise<void> {
  const payload = { class: "Hard", args: [], jid, queue: "default", ...fields };
  const job = { jid, queue: payload.queue, payload: JSON.stringify(payload) };
  await store.jobs.enqueue([delayMs === undefined ? job : { ...job, delayMs }]);
}

/** Puts jobs into their queues in one step: one by one, hundreds of jobs take seconds. */
export async function pushAll(
  store: Store,
  jobs: readonly { readonly jid: string; readonly queue?: string; readonly args?: readonly unknown[] }[],
): Promise<void> {
  await store.jobs.enqueue(jobs.map(({ jid, queue = "default", args = [] }) => {
    return { jid, queue, payload: JSON.stringify({ class: "Hard", args, jid, queue }) };
  }));
}

/** Puts a job into `dead`. */
export async function bury(
  store: Store,
  jid: string,
  fields: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  await push(store, jid, {
    error_class: "RangeError",
    error_message: "no luck",
    retry_count: 0,
    failed_at: 1.7e9,
    ...fields,
  });
  const [entry] = await store.jobs.find([jid]);
  await store.jobs.edit([entry!.ref], "kill");
}

/** A worker's record, as it registers. */
export function workerRecord(id: string, more: Partial<WorkerRecord> = {}): WorkerRecord {
  return {
    id,
    hostname: "web1",
    pid: 7,
    tag: "",
    labels: [],
    queues: ["default"],
    weights: { default: 0 },
    concurrency: 2,
    version: "0",
    startedAt: 0,
    quiet: false,
    busy: 0,
    rss: 1,
    work: [],
    totals: {},
    ...more,
  };
}

/** Puts a job into `retry`, due in an hour: a worker took it and it failed. */
export async function fail(
  store: Store,
  jid: string,
  fields: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  const worker = `web1:7:${jid}`;
  const failed = { error_class: "RangeError", error_message: "no luck", retry_count: 0, failed_at: 1.7e9, ...fields };
  await push(store, jid, { ...failed, queue: "failing" });
  await store.workers.heartbeat(workerRecord(worker), 60_000);
  const [lease] = await store.jobs.take({ queues: ["failing"], limit: 1, worker });
  const payload = JSON.stringify({ class: "Hard", args: [], jid, queue: "default", ...failed });
  await store.jobs.settle(worker, [{ kind: "retry", token: lease!.token, delayMs: 3_600_000, payload }]);
  await store.workers.deregister(worker);
}

/** Functions that put a job into each place. */
export const PUT: Readonly<
  Record<string, (store: Store, jid: string, fields: Record<string, unknown>) => Promise<void>>
> = {
  "queue:default": push,
  "scheduled": (store, jid, fields) => push(store, jid, fields, 3_600_000),
  "retry": fail,
  "dead": bury,
};

/** Returns the place of a job: `dead`, `queue:default`, …, or undefined. */
export async function placeOf(store: Store, jid: string): Promise<string | undefined> {
  const [entry] = await store.jobs.find([jid]);
  return entry && (entry.place.in === "queue" ? `queue:${entry.place.queue}` : entry.place.in);
}

/** Returns the refs of the jobs with these IDs. */
export async function refsOf(store: Store, ...jids: string[]): Promise<string[]> {
  return await Promise.all(jids.map(async (jid) => (await store.jobs.find([jid]))[0]!.ref));
}
