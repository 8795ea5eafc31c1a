/** Push tokens that are limited to classes or queues: each option of a push, and the names that all tokens share. */
import { assertEquals, assertThrows } from "@std/assert";
import { Client } from "../../src/client/client.ts";
import { systemClock } from "../../src/clock.ts";
import { JOB_OPTIONS } from "../../src/job/options.ts";
import { optionNames } from "../../src/job/option_names.ts";
import { newToken } from "../../src/web/auth/accounts.ts";
import { PUSH_SCOPE, type ScopedToken, withinScope } from "../../src/web/auth/push_scope.ts";
import { Refused } from "../../src/operator/actions/action.ts";
import { onBothStores, PATIENT, type Site } from "./site.ts";

const LOCK = "a".repeat(43);

/** For each option: a value that a token for the class `Mail` and the queue `low` may set, and values that it may not. */
const VALUES: Readonly<
  Record<keyof typeof PUSH_SCOPE, { readonly ok?: unknown; readonly refused?: readonly unknown[] }>
> = {
  class: { ok: "Mail", refused: ["Other", "", 5, null] },
  args: { ok: ["any"] },
  fields: {},
  queue: { ok: "low", refused: ["high", "", null, 5, ["low"]] },
  group: { ok: "acme" },
  priority: { ok: "high" },
  in: { ok: "5m" },
  at: { ok: 1.9e9 },
  retry: { ok: 3 },
  retry_for: { ok: "1h" },
  retry_queue: { ok: "low", refused: ["high", null] },
  backoff: { ok: { type: "fixed", base: "2s" } },
  dead: { ok: false },
  timeout: { ok: "5s" },
  expires_in: { ok: "5s" },
  unique_for: { ok: "5s" },
  unique_key: { ok: "order", refused: [LOCK] },
  unique_until: { ok: "start" },
  on_duplicate: { ok: "replace" },
  debounce: { ok: "5s" },
  debounce_key: { ok: "order", refused: [LOCK] },
  debounce_max: { ok: "5m" },
  throttle: { ok: "1/1m" },
  throttle_key: { ok: "order", refused: [LOCK] },
  result_ttl: { ok: 60 },
  failure_ttl: { ok: 60 },
  backtrace: { ok: true },
  log_level: { ok: "warn" },
  tags: { ok: ["a"] },
  notify: { ok: ["a"] },
  display_class: { ok: "Mail", refused: ["Other"] },
  wrapped: { ok: "Mail", refused: ["Other", 5] },
  batch: { refused: ["b1", null, false] },
  jid: { refused: ["j1", null] },
  id: {},
  within: { ok: "1h" },
  created_at: { ok: 1.7e9 },
};

Deno.test("a limited token may set each option only as the table has it", () => {
  assertEquals(
    Object.keys(PUSH_SCOPE).sort(),
    [...optionNames("push"), "class", "args", "fields"].sort(),
    "each option has a rule",
  );
  assertEquals(Object.keys(JOB_OPTIONS).filter((name) => !(name in PUSH_SCOPE)), ["schema", "isolate", "retryIn"]);
  const token: ScopedToken = { name: "t", scope: { classes: ["Mail"], queues: ["low"] }, queues: new Set() };
  const mail = { class: "Mail", args: [], queue: "low" };
  for (const [field, { ok, refused = [] }] of Object.entries(VALUES)) {
    if (ok !== undefined) assertEquals(withinScope({ ...mail, [field]: ok }, token), { ...mail, [field]: ok }, field);
    for (const value of refused) {
      const error = assertThrows(() => withinScope({ ...mail, [field]: value }, token), Refused, undefined, field);
      assertEquals([error.kind, error.message.includes("\n")], ["forbidden", false], `${field} ${value}`);
    }
  }
});

Deno.test("an id of a limited token is a name of that token alone", () => {
  const idOf = (name: string, id: string) =>
    withinScope({ class: "Mail", args: [], id }, {
      name,
      scope: { classes: ["Mail"] },
      queues: new Set(),
    })["id"] as string;
  assertEquals(idOf("shop", "order-1"), "shop:order-1");
  const ids = [idOf("a", "b/c"), idOf("a/b", "c"), idOf("a", "x".repeat(200)), idOf("a", `${"x".repeat(199)}y`)];
  assertEquals(new Set(ids).size, 4);
  assertEquals(ids.every((id) => id.length <= 200), true);
});

const ROLES: Readonly<Record<string, { readonly role: string; readonly token: string; readonly secret: string }>> = {
  approver: { role: "signal(key=order:*)", ...newToken() },
  watcher: { role: "reader", ...newToken() },
};
const [mail, report, any] = [newToken(), newToken(), newToken()];
const users = [
  `mail:push(class=Mail):${mail.secret}`,
  `report:push(class=Report):${report.secret}`,
  `any:push:${any.secret}`,
];

async function post({ visitor }: Site, { token }: { readonly token: string }, body: unknown, key?: string) {
  const headers = { authorization: `Bearer ${token}`, ...(key !== undefined && { "idempotency-key": key }) };
  return await visitor().api("POST", "/jobs", body, headers);
}

onBothStores("a limited token reaches no job of another class by a name that all classes share", async (site) => {
  const { store } = site;
  const client = new Client({ store, onUnregistered: () => {} });
  const jid = await client.push("Report", [1], { unique_for: "1h", unique_key: "nightly" });
  const { payload } = (await store.jobs.find([jid!]))[0]!;
  const lock = (JSON.parse(payload) as { unique_key: string }).unique_key;
  const job = { class: "Mail", args: [] };
  for (
    const more of [
      { unique_for: "1h", unique_key: lock, on_duplicate: "replace" },
      { unique_for: "1h", unique_key: lock },
      { jid },
      { jid, fields: { has_steps: true } },
      { fields: { has_steps: true } },
      { fields: { enqueued_at: 1 } },
      { class: "Report", wrapped: "Mail", args: [1], unique_for: "1h" },
    ]
  ) {
    const { status } = await post(site, mail, { ...job, ...more });
    assertEquals([403, 422].includes(status), true, `${JSON.stringify(more)}: ${status}`);
  }
  assertEquals((await store.jobs.find([jid!]))[0]!.payload, payload);

  // The same key of another token, or of a program, neither suppresses a push nor tells a jid.
  const first = await post(site, report, { class: "Report", args: [2] }, "order-1");
  const second = await post(site, mail, job, "order-1");
  const third = await post(site, any, job, "order-1");
  assertEquals([first.status, second.status, third.status], [201, 201, 201]);
  assertEquals(new Set([first, second, third].map(({ value }) => value.jid)).size, 3);
  const again = await post(site, mail, { ...job, id: "order-1" });
  assertEquals([again.status, again.value.jid, again.value.existed], [200, second.value.jid, true]);
  const list = await post(site, mail, [job, job], "order-2");
  assertEquals((await post(site, mail, [job, job], "order-2")).value, {
    results: list.value.results.map(({ jid }: { jid: string }) => ({ jid, existed: true })),
  });
}, { users });

onBothStores("a token limited to classes makes no new queues, and pushes to existing ones", async (site) => {
  const push = async (more: object) => (await post(site, mail, { class: "Mail", args: [], ...more })).status;
  await site.store.classes.declare([{ name: "Mail", options: JSON.stringify({ queue: "mails" }) }]);
  assertEquals(await push({ queue: "billing" }), 403);
  await new Client({ store: site.store, onUnregistered: () => {} }).push("Bill", [], { queue: "billing" });
  assertEquals(await push({}), 201);
  assertEquals(await push({ queue: "default" }), 201);
  assertEquals(await push({ queue: "mails", retry_queue: "mails" }), 201);
  assertEquals([await push({ queue: "q1" }), await push({ retry_queue: "q2" })], [403, 403]);
  const { value } = await post(
    site,
    mail,
    Array.from({ length: 50 }, (_, i) => ({ class: "Mail", queue: `many${i}` })),
  );
  assertEquals(value.results.filter(({ refused }: { refused?: string }) => refused !== undefined).length, 50);
  const names = (await site.store.admin.stats()).queues.map(({ name }) => name).sort();
  assertEquals(names, ["billing", "default", "mails"]);
}, { users });

onBothStores("each job in a list of a limited token counts towards its rate", async (site) => {
  const job = { class: "Mail", args: [] };
  assertEquals((await post(site, mail, Array(30).fill(job))).status, 201);
  const refused = await post(site, mail, job);
  assertEquals([refused.status, refused.value.error.code], [429, "rate_limited"]);
  assertEquals((await post(site, any, Array(30).fill(job))).status, 201);
  assertEquals((await post(site, any, job)).status, 201);
}, { users, tokenRate: 1, clock: { ...systemClock, monotonic: () => 0 } });

onBothStores("a list of which no job is stored isn't answered as created", async (site) => {
  const ok = { class: "Mail", args: [] };
  const statusOf = async (list: readonly object[], key?: string) => (await post(site, mail, list, key)).status;
  assertEquals(await statusOf([{ class: "Other", args: [] }, { class: "Mail", args: 5 }]), 200);
  assertEquals(await statusOf([]), 200);
  assertEquals(await statusOf([{ class: "Other", args: [] }, ok]), 201);
  assertEquals([await statusOf([ok], "once"), await statusOf([ok], "once")], [201, 200]);
}, { users });

onBothStores("a session that a token has begun has the rate of the token", async (site) => {
  for (const name of ["approver", "watcher"]) {
    const someone = site.visitor();
    const body = new URLSearchParams({ name: "", password: ROLES[name]!.token });
    assertEquals((await someone.send("/login", { method: "POST", body })).status, 303);
    const path = name === "approver" ? "/signals" : "/queues";
    let served = 0;
    while ((await someone.visit(path)).status === 200 && served < 50) served++;
    assertEquals(served <= 10, true, `${name}: ${served}`);
    const bearer = await site.visitor().api("GET", "/signals", undefined, {
      authorization: `Bearer ${ROLES[name]!.token}`,
    });
    assertEquals([bearer.status, bearer.value.error.code], [429, "rate_limited"]);
  }
}, {
  users: Object.entries(ROLES).map(([name, { role, secret }]) => `${name}:${role}:${secret}`),
  tokenRate: 1,
  clock: { ...PATIENT, monotonic: () => 0 },
});
