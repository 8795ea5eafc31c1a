import { readEvents, recordEvent } from "../../src/store/admin/audit.ts";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { FakeClock } from "../support/clock.ts";
import { AuditBounds } from "../../src/web/audit.ts";
import { newToken } from "../../src/web/auth/accounts.ts";
import { bury, onBothStores, openSite, push, quickSecret, refsOf } from "./site.ts";

onBothStores("the audit log has each action: user, address, action, target, count and outcome", async (site) => {
  const { store, visitor } = site;
  const someone = visitor("10.0.0.9");
  for (const jid of ["d1", "d2", "d3"]) await bury(store, jid);
  await someone.submit("/jobs/act", { in: "dead", do: "retry", ref: await refsOf(store, "d1") }, "/dead");
  await someone.submit(
    "/jobs/act",
    { in: "dead", do: "delete", scope: "all", class: "Hard", confirmed: "yes" },
    "/dead",
  );
  await someone.submit("/push", { class: "Greet", args: "[]" });
  await someone.submit("/queues/default/pause", {}, "/queues");
  await someone.submit("/queues/pause", {}, "/queues");
  await someone.submit("/workers/unknown:1:x/quiet", {}, "/workers");
  await someone.api("POST", "/cron/nothing/run");
  const { events } = await readEvents(store);
  assertEquals(
    events.map(({ action, target, count, outcome }) => [action, target, count, outcome?.split(":")[0]]),
    [
      ["cron run", "nothing", undefined, "refused"],
      ["quiet", "unknown:1:x", undefined, "refused"],
      ["pause", "all queues", undefined, undefined],
      ["pause", "queue:default", undefined, undefined],
      ["push", events[4]!.target, 1, undefined],
      ["delete", 'all dead jobs with class "Hard"', 2, undefined],
      ["delete", 'all dead jobs with class "Hard"', 2, "begun"],
      ["retry", "d1", 1, undefined],
    ],
  );
  assert(events.every(({ user, by, from }) => user === "local" && by === "open" && from === "10.0.0.9"));
  const { text } = await someone.visit("/audit");
  for (const shown of ["10.0.0.9", "all dead jobs with class &quot;Hard&quot;", "is offline or unknown", "cron run"]) {
    assertStringIncludes(text, shown);
  }
  const api = (await someone.api("GET", "/audit?limit=3")).value;
  assertEquals([api.events.length, api.events[2].target], [3, "all queues"]);
  const rest = (await someone.api("GET", `/audit?limit=100&cursor=${encodeURIComponent(api.next)}`)).value;
  assertEquals([rest.events.length, rest.next], [5, undefined]);
});

onBothStores("pages through the audit log, the latest event first", async ({ store, visitor }) => {
  for (let i = 0; i < 120; i++) {
    await recordEvent(store, { user: "ann", by: "cookie", from: "here", action: "retry", target: `target-${i}.` });
  }
  const someone = visitor();
  const seen: string[] = [];
  for (let path: string | undefined = "/audit"; path !== undefined;) {
    const { text } = await someone.visit(path);
    seen.push(...text.match(/target-\d+\./g)!);
    path = /rel="next" href="([^"]+)"/.exec(text)?.[1]?.replaceAll("&amp;", "&");
  }
  assertEquals(seen, Array.from({ length: 120 }, (_, i) => `target-${119 - i}.`));
});

Deno.test("a reader sees the audit log; pushes by token aren't logged", async () => {
  const { token, secret } = newToken();
  const users = [`ann:reader:${quickSecret("correct horse")}`, `ci:operator:${secret}`];
  await using site = await openSite("sqlite", { users });
  const program = { authorization: `Bearer ${token}` };
  assertEquals((await site.visitor().api("POST", "/jobs", { class: "A" }, program)).status, 201);
  assertEquals((await site.visitor().api("POST", "/jobs", [{ class: "A" }], program)).status, 201);
  assertEquals((await site.visitor().api("POST", "/queues/default/clear", {}, program)).status, 200);
  const reader = { authorization: `Basic ${btoa("ann:correct horse")}` };
  const { events } = (await site.visitor().api("GET", "/audit", undefined, reader)).value;
  assertEquals(events.map(({ user, by, action }: Record<string, string>) => [user, by, action]), [
    ["ci", "token", "clear"],
    ["ci", "token", "clear"],
  ]);
  assertEquals((await site.visitor().send("/audit", { headers: reader })).status, 200);
  assertEquals((await site.visitor().visit("/audit")).status, 303);
});

onBothStores("an action takes effect though its event can't be written", async ({ store, visitor }) => {
  await push(store, "q1");
  const real = store.logs.add;
  store.logs.add = () => Promise.reject(new Error("disk full"));
  try {
    const { text } = await visitor().submit("/queues/default/pause", {}, "/queues");
    assertStringIncludes(text, "Queue default paused.");
  } finally {
    store.logs.add = real;
  }
  assertEquals((await store.admin.stats()).queues.map(({ paused }) => paused), [true]);
  assertEquals((await readEvents(store)).events, []);
});

onBothStores(
  "pushes without a token leave the older entries in the audit log, and count those that it leaves out",
  async (site) => {
    const { store, visitor } = site;
    await recordEvent(store, { user: "ann", by: "cookie", from: "here", action: "delete", target: "evidence" });
    const someone = visitor();
    for (let i = 0; i < 130; i++) {
      if (i % 2) await someone.api("POST", "/jobs", { class: "Greet", args: [] });
      else await someone.api("POST", "/signals/paid", {});
    }
    const { events } = await readEvents(store, { limit: 1_000 });
    assertEquals([events.length, events.at(-1)!.target], [101, "evidence"]);
  },
);

Deno.test("bounds the entries of one kind, and tells how many were left out", () => {
  const clock = new FakeClock();
  const bounds = new AuditBounds(clock);
  const admit = (times: number, kind = "login") => Array.from({ length: times }, () => bounds.admit(kind));
  assertEquals(admit(102).filter((omitted) => omitted === 0).length, 100);
  assertEquals(admit(1, "push:ann"), [0]);
  void clock.advance(299_999);
  assertEquals(admit(1), [undefined]);
  void clock.advance(1);
  assertEquals(admit(2), [3, undefined]);
});

const eve = newToken();
const shop = newToken();
onBothStores("the audit log has refused logins and requests, however they are sent, and no password", async (site) => {
  const { store, visitor } = site;
  const headers = (authorization: string) => ({ headers: { authorization } });
  await visitor("10.0.0.7").send("/api/v1/stats", headers(`Basic ${btoa("ann:hunter2")}`));
  await visitor("10.0.0.7").send("/api/v1/stats", headers("Bearer hunter2"));
  await visitor("10.0.0.7").submit("/login", { name: "hunter2", password: "ann" }, "/login");
  for (let i = 0; i < 3; i++) await visitor("10.0.0.7").send("/dead", headers(`Basic ${btoa("ann:hunter2")}`));
  await visitor("10.0.0.8").api("POST", "/pause", {}, headers(`Bearer ${eve.token}`).headers);
  await visitor("10.0.0.8").api("GET", "/stats", undefined, headers(`Bearer ${shop.token}`).headers);
  await visitor("10.0.0.8").api("POST", "/jobs", { class: "Other" }, headers(`Bearer ${shop.token}`).headers);
  const rows = (await readEvents(store)).events.toReversed().map((event) =>
    [event.user, event.by, event.from, event.action, event.target, event.outcome?.replace(/\d+ s$/, "N s")] as const
  );
  const failed = "refused: wrong name, password or token";
  assertEquals(rows, [
    ["ann", "login", "10.0.0.7", "login", undefined, failed],
    ["(unknown)", "login", "10.0.0.7", "login", undefined, failed],
    ["(unknown)", "login", "10.0.0.7", "login", undefined, failed],
    ["ann", "login", "10.0.0.7", "login", undefined, failed],
    ["ann", "login", "10.0.0.7", "login", undefined, failed],
    ["ann", "login", "10.0.0.7", "login", undefined, "refused: too many failures, wait N s"],
    [
      "eve",
      "token",
      "10.0.0.8",
      "request",
      "POST /api/v1/pause",
      "refused: Your role (reader) does not allow this action; expected the role operator in web.users",
    ],
    [
      ...["shop", "token", "10.0.0.8", "request", "GET /api/v1/stats"] as const,
      "refused: Your role (push) allows only POST /api/v1/jobs and GET /api/v1/jobs/JID/result and …/stream; " +
      "expected the role reader or operator in web.users",
    ],
    ["shop", "token", "10.0.0.8", "request", "POST /api/v1/jobs", "refused: This token may push only Mail"],
  ]);
}, {
  users: [`ann:operator:${quickSecret("right")}`, `eve:reader:${eve.secret}`, `shop:push(class=Mail):${shop.secret}`],
});

const ops = newToken();
onBothStores("pushing a job again records the job that it deletes, by a token too", async ({ store, visitor }) => {
  await bury(store, "d1");
  await visitor().api("POST", "/jobs/d1/push-again", { class: "Other" }, { authorization: `Bearer ${ops.token}` });
  const [event] = (await readEvents(store)).events;
  assertEquals([event?.user, event?.action, event?.details], [
    "ops",
    "push again",
    "Other, in place of job d1 in dead",
  ]);
  assertEquals((await store.jobs.find([event!.target!]))[0]?.place.in, "queue");
}, { users: [`ops:operator:${ops.secret}`] });
