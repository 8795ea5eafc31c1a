/** Roles with limits: an operator of some queues, one that deletes nothing, and one that only signals. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { newToken } from "../../src/web/auth/accounts.ts";
import { asleep } from "./asleep.ts";
import { onBothStores, placeOf, quickSecret, type Site } from "./site.ts";

const [mail, gentle, approver] = [newToken(), newToken(), newToken()];
const PASSWORD = "correct horse";
const SECRET = quickSecret(PASSWORD);
const USERS = [
  `mail:operator(queue=mail|news):${mail.secret}`,
  `gentle:operator(delete=no):${gentle.secret}`,
  `approver:signal(key=order:*):${approver.secret}`,
];

/** Stores a dead job in each queue. */
async function dead({ store }: Site, ...queues: readonly string[]): Promise<void> {
  for (const queue of queues) {
    const payload = JSON.stringify({ class: "Mail", args: [], jid: `in-${queue}`, queue });
    await store.jobs.enqueue([{ jid: `in-${queue}`, queue, payload }]);
    await store.jobs.edit((await store.jobs.find([`in-${queue}`])).map(({ ref }) => ref), "kill");
  }
}

/** Returns the browser of a person. */
async function loggedIn(site: Site, name: string) {
  const someone = site.visitor();
  const body = new URLSearchParams({ name, password: PASSWORD });
  const { status, headers } = await someone.send("/login", { method: "POST", body });
  assertEquals([status, headers.get("location")], [303, "/"]);
  return someone;
}

function acting(site: Site, { token }: { readonly token: string }) {
  const someone = site.visitor();
  return async (path: string, body: unknown = {}, method: "GET" | "POST" = "POST") => {
    const { status, value } = await someone.api(method, path, method === "GET" ? undefined : body, {
      authorization: `Bearer ${token}`,
    });
    return { status, value, message: value?.error?.message as string | undefined };
  };
}

onBothStores("an operator of some queues acts on them and their jobs, and on nothing else", async (site) => {
  const { store } = site;
  await dead(site, "mail", "low", "other");
  const act = acting(site, mail);
  const refOf = async (queue: string) => (await store.jobs.find([`in-${queue}`]))[0]!.ref;
  const outside = (queue: string) =>
    `Job "in-${queue}" is in queue "${queue}", which is outside of your role; expected mail, news`;
  const cases: [path: string, body: unknown, message: string][] = [
    ["/jobs/in-low/retry", {}, outside("low")],
    ["/jobs/in-low/delete", { ref: await refOf("low") }, outside("low")],
    ["/jobs/in-mail/delete", { ref: await refOf("low") }, outside("low")],
    ["/jobs/in-mail/move", { queue: "low" }, 'Queue "low" is outside of your role; expected mail, news'],
    ["/jobs/in-low/push-again", {}, outside("low")],
    ["/jobs/in-mail/push-again", { queue: "low" }, 'Queue "low" is outside of your role; expected mail, news'],
    ["/actions", { action: "retry", refs: [await refOf("mail"), await refOf("low")] }, outside("low")],
    [
      "/actions",
      { action: "retry", all: { in: "dead" } },
      "Your role acts on all jobs of a queue alone; expected the filter queue: mail, news",
    ],
    [
      "/actions",
      { action: "retry", all: { in: "dead", queue: "m*" } },
      'Queue "m*" is outside of your role; expected mail, news',
    ],
    [
      "/actions",
      { action: "delete", all: { in: "queue:low" } },
      'Queue "low" is outside of your role; expected mail, news',
    ],
    ["/queues/low/pause", {}, 'Queue "low" is outside of your role; expected mail, news'],
    ["/queues/low/clear", {}, 'Queue "low" is outside of your role; expected mail, news'],
    ["/queues/low/groups/limit", { running: 1 }, 'Queue "low" is outside of your role; expected mail, news'],
    ["/pause", {}, 'Your role is limited to queues mail, news: "pause" acts on more than that'],
    ["/workers/quiet", {}, 'Your role is limited to queues mail, news: "quiet" acts on more than that'],
    [
      "/cron",
      { name: "a", class: "A", every: 60 },
      'Your role is limited to queues mail, news: "cron add" acts on more than that',
    ],
    [
      "/signals/order:1",
      {},
      'Signal "order:1" not sent: your role is limited to queues mail, news; keys of signals are added as key=order:*',
    ],
    ["/jobs", { class: "A", queue: "low" }, "This token may push only to mail, news"],
  ];
  for (const [path, body, message] of cases) {
    const refused = await act(path, body);
    assertEquals([refused.status, refused.message], [403, message], path);
  }
  const { value: { changed, failures } } = await act("/actions", { action: "retry", jids: ["in-low", "in-mail"] });
  assertEquals([changed, failures], [1, [{ jid: "in-low", code: "forbidden", message: outside("low") }]]);
  assertEquals([await placeOf(store, "in-mail"), await placeOf(store, "in-low")], ["queue:mail", "dead"]);
  assertEquals((await act("/jobs", { class: "A", queue: "news" })).status, 201);
  assertEquals((await act("/queues/mail/pause")).status, 200);
  assertEquals((await act("/jobs/in-mail/move", { queue: "news" })).status, 200);
  assertEquals((await act("/actions", { action: "delete", all: { in: "queue:news" } })).value, { changed: 2 });
  assertEquals((await act("/jobs?in=dead", undefined, "GET")).value.jobs.length, 2, "it sees all jobs");
}, { users: USERS });

onBothStores("an operator of some queues steers only the steps of jobs there", async (site) => {
  await asleep(site.store);
  const act = acting(site, mail);
  for (const [verb, body] of [["wake", {}], ["clear", { name: "charge" }], ["rerun", { name: "charge" }]] as const) {
    const { status, message } = await act(`/jobs/o1/steps/${verb}`, body);
    assertEquals([status, message], [
      403,
      'Job "o1" is in queue "default", which is outside of your role; expected mail, news',
    ]);
  }
  assertEquals((await site.store.steps.read("o1")).length, 2);
}, { users: USERS });

onBothStores("an operator without delete retries, kills and pauses, and deletes nothing", async (site) => {
  const { store } = site;
  await dead(site, "mail");
  await asleep(store);
  const act = acting(site, gentle);
  const cases: [path: string, body?: unknown][] = [
    ["/jobs/in-mail/delete"],
    ["/jobs/o1/cancel"],
    ["/jobs/in-mail/push-again"],
    ["/actions", { action: "delete", jids: ["in-mail"] }],
    ["/actions", { action: "cancel", all: { in: "scheduled" } }],
    ["/queues/mail/clear"],
    ["/jobs/o1/steps/clear", {}],
    ["/jobs/o1/steps/rerun", { name: "charge" }],
  ];
  for (const [path, body] of cases) {
    const { status, message } = await act(path, body);
    assertEquals([status, message?.replace(/".*"/, "…")], [
      403,
      "Your role deletes nothing (delete=no): … is refused; expected retry, kill, move or pause",
    ], path);
  }
  assertEquals([await placeOf(store, "in-mail"), (await store.steps.read("o1")).length], ["dead", 2]);
  assertEquals((await act("/jobs/in-mail/retry")).status, 200);
  assertEquals((await act("/jobs/in-mail/kill")).status, 200);
  assertEquals((await act("/pause")).status, 200);
  assertEquals((await act("/signals/order:42")).value, { reached: "o1" });
  assertEquals((await act("/jobs", { class: "A", queue: "new" })).status, 201);
}, { users: USERS });

onBothStores("a role for signals sends those of its keys, and sees the jobs that wait for them", async (site) => {
  for (const [jid, key] of [["o1", "order:42"], ["o2", "refund:1"]] as const) await asleep(site.store, { jid, key });
  const act = acting(site, approver);
  const { value: { signals } } = await act("/signals", undefined, "GET");
  assertEquals(signals.map(({ key }: { key: string }) => key), ["order:42"]);
  assertEquals((await act("/signals?key=refund:1", undefined, "GET")).value.signals, []);
  const refused = await act("/signals/refund:1", { data: true });
  assertEquals([refused.status, refused.message], [
    403,
    'Signal "refund:1" not sent: it is outside of your role; expected order:*',
  ]);
  assertEquals((await act("/jobs/o1", undefined, "GET")).status, 403);
  assertEquals((await act("/signals/order:42", { data: { approved: true } })).value, { reached: "o1" });
}, { users: USERS });

onBothStores(
  "a person who may only signal has a page with the jobs that wait, and nothing of the store",
  async (site) => {
    for (const [jid, key] of [["o1", "order:42"], ["o2", "refund:1"]] as const) await asleep(site.store, { jid, key });
    const someone = await loggedIn(site, "ann");
    assertEquals((await someone.visit("/")).headers.get("location"), "/signals");
    const { text } = await someone.visit("/signals");
    for (const shown of ["order:42", "Order(42)"]) assertStringIncludes(text, shown);
    for (const hidden of ["refund:1", "/jobs/o1", "Overview", "New job", "sqlite:", "redis:", "Search"]) {
      assert(!text.includes(hidden), hidden);
    }
    let page = await someone.open("/signals");
    page = await page.press("Signal order:42 of job o1");
    page = await page.press("Signal", { fill: { Data: '{"approved":true}' } });
    page = await page.press("Send the signal");
    assertEquals([page.heading, page.message], ["Signals", "Job o1 continues."]);
  },
  { users: [`ann:signal(key=order:*):${SECRET}`] },
);

onBothStores("pages offer only the buttons that the role's limits allow", async (site) => {
  await dead(site, "mail", "low");
  const buttons = async (user: string, path: string) => {
    const { text } = await (await loggedIn(site, user)).visit(path);
    return [...text.matchAll(/<button[^>]*>([^<]+)<\/button>/g)].map(([, label]) => label);
  };
  assert((await buttons("mail", "/jobs/in-mail")).includes("Retry"));
  assertEquals((await buttons("mail", "/jobs/in-low")).filter((label) => /Retry|Delete|Move/.test(label!)), []);
  assert(!(await buttons("gentle", "/jobs/in-mail")).includes("Delete"));
  assert((await buttons("gentle", "/jobs/in-mail")).includes("Retry"));
  assertEquals((await buttons("mail", "/workers")).filter((label) => /Quiet|Stop/.test(label!)), []);
  assertEquals((await buttons("mail", "/queues/low")).filter((label) => /Pause|Clear/.test(label!)), []);
  assert((await buttons("mail", "/queues/mail")).includes("Pause"));
  await asleep(site.store);
  const ofSteps = (labels: readonly (string | undefined)[]) =>
    labels.filter((label) => /Signal$|Give up|again/.test(label!));
  assertEquals(ofSteps(await buttons("mail", "/jobs/o1")), []);
  assertEquals(ofSteps(await buttons("gentle", "/jobs/o1")), ["Signal", "Give up waiting"]);
}, {
  users: [`mail:operator(queue=mail|news):${SECRET}`, `gentle:operator(delete=no):${SECRET}`],
});
