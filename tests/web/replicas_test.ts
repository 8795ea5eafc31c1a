/** Several processes that serve the dashboard of one store behind one name, and several dashboards on one host. */
import { assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { Client } from "../../src/client/client.ts";
import { SESSION_CHECK_MS } from "../../src/web/auth/session_watch.ts";
import { createWeb, type Web, type WebOptions } from "../../src/web/web.ts";
import { until } from "../support/eventually.ts";
import { onBothStores, openSite, PATIENT, quickSecret, type Site, Visitor } from "./site.ts";

const ANN = `ann:operator:${quickSecret("correct horse")}`;
const IN = { name: "ann", password: "correct horse" };

/** Another process with the store of a site. */
function replicaOf({ store }: Site, options: Partial<WebOptions> = {}): Web {
  return createWeb({ store, clock: PATIENT, users: [ANN], ...options });
}

/** Gives the visitor of one process the cookies of another one's. */
function at(web: Web, { cookies }: Visitor): Visitor {
  const visitor = new Visitor(web, "127.0.0.1");
  for (const [name, value] of cookies) visitor.cookies.set(name, value);
  return visitor;
}

/** Presses a button of a page that one process has served, and another one answers. */
async function pauseBetween(page: Visitor, answer: Visitor): Promise<number> {
  const token = /name="token" value="([^"]+)"/.exec((await page.visit("/queues")).text)![1]!;
  const body = new URLSearchParams({ token, back: "/" });
  const headers = { "sec-fetch-site": "same-origin" };
  return (await answer.send("/queues/default/pause", { method: "POST", body, headers })).status;
}

async function logIn(visitor: Visitor): Promise<number> {
  return (await visitor.send("/login", { method: "POST", body: new URLSearchParams(IN) })).status;
}

onBothStores("a session and a form of one process hold in every other, and so does a logout", async (site) => {
  await using other = replicaOf(site);
  const first = site.visitor();
  assertEquals(await logIn(first), 303);
  const second = at(other, first);
  assertEquals((await second.visit("/queues")).status, 200);
  assertEquals(await pauseBetween(first, second), 303);
  await second.submit("/logout", {});
  assertEquals((await first.visit("/queues")).status, 303);
  await using restarted = replicaOf(site);
  assertEquals((await at(restarted, first).visit("/queues")).status, 303);
}, { users: [ANN] });

/** Opens a stream of a visitor in one process. */
async function follow(web: Web, { cookies }: Visitor, path: string): Promise<{ hasEnded: boolean }> {
  const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  const { status, body } = await web.handle(
    new Request(`http://localhost${path}`, { headers: { cookie } }),
    "127.0.0.1",
  );
  assertEquals(status, 200);
  const stream = { hasEnded: false };
  void body!.pipeTo(new WritableStream()).finally(() => stream.hasEnded = true);
  return stream;
}

onBothStores("streams end with their session, also if it expires or another process ends it", async (site) => {
  let lateMs = 0;
  const clock = {
    ...PATIENT,
    now: () => PATIENT.now() + lateMs,
    sleep: (ms: number, signal?: AbortSignal) => PATIENT.sleep(ms === SESSION_CHECK_MS ? 10 : ms, signal),
  };
  await using here = replicaOf(site, { clock });
  await using other = replicaOf(site, { clock });
  const jid = await new Client({ store: site.store }).push({ class: "Try", args: [] });
  const open = async (visitor: Visitor) => {
    const paths = ["/events", `/api/v1/jobs/${jid}/stream`];
    return await Promise.all([here, other].flatMap((web) => paths.map((path) => follow(web, visitor, path))));
  };
  const haveEnded = (streams: readonly { readonly hasEnded: boolean }[]) => streams.map(({ hasEnded }) => hasEnded);
  const [leaving, staying] = [new Visitor(here, "127.0.0.1"), new Visitor(here, "127.0.0.1")];
  await logIn(leaving);
  await logIn(staying);
  const [left, stayed] = [await open(leaving), await open(staying)];
  await leaving.submit("/logout", {});
  await until(() => haveEnded(left).every(Boolean), () => `the end of all: ${haveEnded(left)}`);
  assertEquals(haveEnded(stayed), [false, false, false, false]);
  // A session lasts 12 hours.
  lateMs = 12 * 3_600_001;
  await until(() => haveEnded(stayed).every(Boolean), () => `the end of all: ${haveEnded(stayed)}`);
}, { users: [ANN] });

Deno.test("a form without a login holds in every process", async () => {
  await using site = await openSite("sqlite");
  await using other = replicaOf(site, { users: [] });
  assertEquals(await pauseBetween(site.visitor(), new Visitor(other, "127.0.0.1")), 303);
});

Deno.test("a session survives a restart, and ends when its password changes", async () => {
  await using site = await openSite("sqlite", { users: [ANN] });
  const ann = site.visitor();
  await logIn(ann);
  await using restarted = replicaOf(site);
  assertEquals((await at(restarted, ann).visit("/queues")).status, 200);
  await using changed = replicaOf(site, { users: [`ann:operator:${quickSecret("another horse")}`] });
  assertEquals((await at(changed, ann).visit("/queues")).status, 303);
});

Deno.test("two dashboards of different stores on one host don't log each other out", async () => {
  await using one = await openSite("sqlite", { users: [ANN] });
  await using two = await openSite("sqlite", { users: [ANN] });
  const ann = one.visitor();
  await logIn(ann);
  const [name] = [...ann.cookies.keys()];
  const there = at(two.web, ann);
  await logIn(there);
  assertEquals(there.cookies.size, 2);
  for (const { web } of [one, two]) assertEquals((await at(web, there).visit("/queues")).status, 200);
  await using prefixed = replicaOf(one, { prefix: "/ops" });
  const elsewhere = new Visitor(prefixed, "127.0.0.1");
  const body = new URLSearchParams(IN);
  assertEquals((await elsewhere.send("/ops/login", { method: "POST", body })).status, 303);
  assertMatch([...elsewhere.cookies.keys()].join(), /^jobs_session_[\w-]{8}$/);
  assertNotEquals([...elsewhere.cookies.keys()][0], name);
});
