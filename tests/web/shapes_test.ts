/** Every response of the API to a GET has the fields of its shape, and no others. */
import { asleep } from "./asleep.ts";
import { assert, assertEquals } from "@std/assert";
import { Client } from "../../src/client/client.ts";
import { endedText } from "../../src/job/result.ts";
import { newToken } from "../../src/web/auth/accounts.ts";
import { API_ROUTES } from "../../src/web/api/routes.ts";
import { fillShop } from "./shop.ts";
import { onBothStores } from "./site.ts";
import { inDead, jid, job } from "../store_contract/jobs.ts";
import { keepRecord } from "../support/records.ts";

const [boss, mail] = [newToken(), newToken()];

/** The kept steps of a job, one of each kind and state. */
const STEPS = [
  { name: "charge", state: "succeeded", kind: "step", since: 1, ended: 2, attempts: 2, value: { paid: 1 } },
  {
    name: "refund",
    state: "failed",
    kind: "step",
    since: 2,
    ended: 3,
    error: { class: "E", message: "m" },
    final: true,
  },
  { name: "pause", state: "succeeded", kind: "sleep", since: 3, ended: 4, until: 4 },
  { name: "approval", state: "succeeded", kind: "wait", since: 4, ended: 5, key: "order:1", timedOut: true },
  { name: "report", state: "waiting", kind: "child", since: 5, until: 9, child: "abc" },
  { name: "rows", state: "running", kind: "each", since: 6, ended: 7, count: 3, cursor: [1] },
];

onBothStores("each response to a GET has the fields of its shape, and no others", async ({ store, visitor }) => {
  await fillShop(store);
  const client = new Client({ store, onUnregistered: () => {} });
  const body = endedText(
    {
      ...{ jid: "ended", class: "Mail", queue: "low", state: "dead", attempt: 3, worker: "a:1:b", elapsedMs: 12.5 },
      ...{ startedAt: 1, endedAt: 2, progress: "half", lastLine: "end", log: ["begin", "end"], resultDropped: "large" },
      error: { class: "E", message: "m", causes: ["caused by F"], stack: ["at x"] },
    },
    { result: "null", steps: JSON.stringify(STEPS), payload: `{"class":"Mail","args":[],"jid":"ended"}` },
  );
  await keepRecord(store, { jid: "ended", body, ttlMs: 60_000 });
  const batch = await client.batches.open({ name: "import", tags: ["a"], success: { class: "Mail", args: [] } });
  await batch.add("Mail", [], { queue: "later" });
  await batch.close();
  const flow = await client.flows.push("nightly", {
    a: { job: ["Mail", [], { queue: "later" }] },
    b: { job: ["Mail", []], after: "a" },
  });
  await client.push("Mail", [], { queue: "low", group: "acme" });
  const user = visitor();
  const authorization = { authorization: `Bearer ${boss.token}` };
  const act = async (path: string, body: unknown) =>
    assertEquals((await user.api("POST", path, body, authorization)).status, 200, path);
  await act("/queues/low/groups/limit", { group: "acme", running: 5, starts: "9/1m", weight: 3, for: "1h" });
  await act("/queues/low/groups/limit", { running: 2 });
  await act("/queues/low/limit", { running: 5, starts: "9/1m" });
  await act("/queues/low/pause", { for: "1h" });

  const seen = new Set<string>();
  const check = async (path: string, pattern = path.split("?")[0]!) => {
    const route = API_ROUTES.find((one) => one.method === "GET" && one.path === pattern);
    assert(route?.shape !== undefined, pattern);
    seen.add(pattern);
    const { status, value } = await user.api("GET", path, undefined, authorization);
    assertEquals(status, 200, path);
    try {
      route.shape.read(value);
    } catch (error) {
      throw new Error(`GET ${path} has another shape: ${(error as Error).message}`, { cause: value });
    }
    return value;
  };
  for (
    const path of ["stats", "history", "audit", "queues", "workers", "classes", "tokens", "settings", "operations"]
  ) {
    await check(`/${path}`);
  }
  for (const path of ["/queues?limit=1", "/workers?limit=1", "/audit?limit=1"]) await check(path);
  const groups = await check("/queues/low/groups", "/queues/{name}/groups");
  assertEquals(groups.groups[0].limit.starts, { count: 9, perMs: 60_000 });
  for (const place of ["scheduled", "retry", "dead", "running", "queue:mail"]) {
    const { jobs: [job] } = await check(`/jobs?in=${place}&limit=1`);
    await check(`/jobs/${job.jid}`, "/jobs/{jid}");
    await check(`/jobs/${job.jid}/steps`, "/jobs/{jid}/steps");
    await check(`/jobs/${job.jid}/result`, "/jobs/{jid}/result");
  }
  assertEquals((await check("/jobs/ended", "/jobs/{jid}")).finished.steps.length, STEPS.length);
  await check("/jobs/ended/result", "/jobs/{jid}/result");
  await check("/jobs/ended/steps", "/jobs/{jid}/steps");
  await asleep(store, { jid: "waits", key: "order:42" });
  assertEquals((await check("/signals?key=order:42")).signals[0].payload.args, [42]);
  await check("/finished?limit=2");
  await check("/batches");
  await check(`/batches/${batch.id}`, "/batches/{id}");
  await check("/flows");
  await check(`/flows/${flow.id}`, "/flows/{id}");
  const { nodes: [, second] } = await check(`/flows/${flow.id}/nodes`, "/flows/{id}/nodes");
  assertEquals((await check(`/jobs/${second.jid}`, "/jobs/{jid}")).waiting.name, "b");
  const { entries: [entry] } = await check("/cron");
  await check(`/cron/${encodeURIComponent(entry.name)}`, "/cron/{name}");
  assertEquals((await check("/events")).events, [], "it begins with the next one");
  await inDead(store, "host:9:aaaaaaaaaaaa", [job(9)]);
  assertEquals((await check("/events?after=0&type=dead")).events[0].jid, jid(9));
  // The data of a stream of events is read in tests/server/job_streams_test.ts.
  const reads = API_ROUTES.filter(({ method, streams }) => method === "GET" && streams !== true).map(({ path }) =>
    path
  );
  assertEquals(reads.filter((path) => !seen.has(path)), []);
}, {
  users: [`boss:operator:${boss.secret}`, `mail:push(class=Mail|Report):${mail.secret}`],
  settings: [
    { key: "store", value: "sqlite:jobs.db", origin: "default", about: "its store" },
    { key: "heartbeat", value: 5_000, shown: "5s", origin: "default", about: "its interval" },
  ],
});
