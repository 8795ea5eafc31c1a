/** Lists of jobs and the page of one, in a real browser: each action on one, on those ticked, on all matching, on all. */
import { assert, assertEquals } from "@std/assert";
import type { OpenStore } from "../../src/store/open.ts";
import { actionsIn, type JobAction, parsePlace, placePath } from "../../src/web/places.ts";
import { browserTest, type Tools } from "./browser.ts";
import { bury, fail, placeOf, push } from "./site.ts";

/** How to put a job into each place. */
const PUT: Readonly<Record<string, (store: OpenStore, jid: string, fields: Record<string, unknown>) => Promise<void>>> =
  {
    "queue:default": push,
    "scheduled": (store, jid, fields) => push(store, jid, fields, 3_600_000),
    "retry": fail,
    "dead": bury,
  };

const SAID: Readonly<Record<JobAction, string>> = {
  retry: "put into their queues",
  kill: "moved to dead",
  cancel: "cancelled",
  delete: "deleted",
  move: "moved",
};
const LEADS_TO: Readonly<Record<JobAction, string | undefined>> = {
  retry: "queue:default",
  kill: "dead",
  cancel: undefined,
  delete: undefined,
  move: "queue:elsewhere",
};

/** What the button is called. */
function nameOf(action: JobAction, place: string): string {
  if (action === "retry" && place === "scheduled") return "Run now";
  return { retry: "Retry", kill: "Kill", cancel: "Cancel", delete: "Delete", move: "Move" }[action];
}

for (const place of Object.keys(PUT)) {
  browserTest(
    `Each action on the jobs in ${place} does what its button says, to those it is meant for`,
    async (tools) => {
      await act(tools, place, "move", "all");
      for (const action of actionsIn(parsePlace(place))) {
        for (const scope of ["one", "ticked", "matching"] as const) await act(tools, place, action, scope);
      }
    },
  );
}

async function act(
  { page, site: { store }, go, press, says }: Tools,
  place: string,
  action: JobAction,
  scope: "one" | "ticked" | "matching" | "all",
): Promise<void> {
  const what = `${action} ${scope} in ${place}`;
  const jids = ["a", "b", "c"].map((letter) => `${letter}-${action}-${scope}`);
  const [a, b] = jids as [string, string];
  const put = PUT[place]!;
  for (const jid of jids) await put(store, jid, { args: [`<${jid}>`], class: jid === a ? "Meant" : "Other" });
  const path = placePath(parsePlace(place));
  const row = (jid: string) => page.locator("tr", { hasText: `<${jid}>` });
  const name = nameOf(action, place);
  await go(scope === "matching" ? `${path}?class=meant` : path);
  if (scope === "one") await row(a).locator("a.class").click();
  if (scope === "ticked") { for (const jid of [a, b]) await row(jid).locator("input[name=ref]").check(); }
  if (action === "move") await page.getByLabel("Queue to move to").fill("elsewhere");
  await press({ one: name, ticked: `${name} ticked`, matching: `${name} all matching`, all: `${name} all 3` }[scope]);
  const meant = { one: [a], ticked: [a, b], matching: [a], all: jids }[scope];
  const jobs = meant.length === 1 ? "1 job" : `${meant.length} jobs`;
  if (action === "delete" || action === "cancel" || scope === "matching" || scope === "all") {
    await page.locator("h1", { hasText: jobs }).waitFor();
    for (const jid of jids) assertEquals(await placeOf(store, jid), place, `${what} is asked for first`);
    await press(`Yes, ${action}`);
  }
  await says(`${jobs} ${SAID[action]}.`);
  for (const jid of jids) {
    assertEquals(await placeOf(store, jid), meant.includes(jid) ? LEADS_TO[action] : place, `${what}: ${jid}`);
    const record = await store.result(jid);
    const state = record === undefined ? undefined : JSON.parse(record).state;
    assertEquals(state, action === "cancel" && meant.includes(jid) ? "cancelled" : undefined, `${what}: ${jid}`);
  }
  for (const { name: queue } of await store.queues()) await store.editSome({ in: "queue", queue }, "delete", 100);
  for (const set of ["scheduled", "retry", "dead"] as const) await store.editSome({ in: set }, "delete", 100);
}

browserTest(
  "A job is changed and pushed again from wherever it waits",
  async ({ page, site: { store }, go, press, says }) => {
    for (const [place, put] of Object.entries(PUT)) {
      const jid = `old-${place.split(":")[0]}`;
      await put(store, jid, { args: ["bob", { password: "hunter2" }] });
      await go(`/jobs/${jid}`);
      await page.getByRole("link", { name: "Edit and push again" }).click();
      assert(!(await page.content()).includes("hunter2"));
      await page.getByRole("textbox", { name: "Arguments" }).fill("{");
      await press("Push");
      await page.getByRole("alert").filter({ hasText: "The arguments are no JSON" }).waitFor();
      await page.getByRole("textbox", { name: "Arguments" }).fill('["ann", {"password": "••••••"}]');
      await page.getByLabel("Queue", { exact: true }).fill("elsewhere");
      await press("Push");
      await says("Pushed as ");
      assertEquals(await placeOf(store, jid), undefined, place);
      const { entries: [entry] } = await store.page({ in: "queue", queue: "elsewhere" });
      assertEquals(JSON.parse(entry!.payload).args, ["ann", { password: "hunter2" }], place);
      await store.edit([entry!.ref], "delete");
    }
  },
);

browserTest(
  "A new job is pushed, now and for later, of a class that is known",
  async ({ page, site: { store }, go, press, says }) => {
    await bury(store, "d1", { class: "Known::Job" });
    await go("/");
    await page.getByRole("link", { name: "New job" }).click();
    assertEquals(
      await page.locator("#class-names option").evaluateAll((all) =>
        all.map((one) => (one as unknown as { value: string }).value)
      ),
      [
        "Known::Job",
      ],
    );
    await page.getByLabel("Class").fill("Known::Job");
    await page.getByRole("textbox", { name: "Arguments" }).fill('["bob", 12345678901234567890]');
    await page.getByLabel("Queue", { exact: true }).fill("mail");
    await page.getByLabel("Retries").fill("maybe");
    await press("Push");
    await page.getByRole("alert").filter({ hasText: 'Retries are "maybe"' }).waitFor();
    await page.getByLabel("Retries").fill("3");
    await press("Push");
    await says("Pushed as ");
    const { entries: [now] } = await store.page({ in: "queue", queue: "mail" });
    assert(now!.payload.includes('"args":["bob",12345678901234567890]'));
    assertEquals(JSON.parse(now!.payload).retry, 3);
    for (const when of ["in 5m", "at 2099-01-31T08:00Z"]) {
      await go("/push?class=Later");
      await page.getByLabel("When").fill(when);
      await press("Push");
      await says("Pushed as ");
      await page.locator("main", { hasText: "It waits for its time" }).waitFor();
    }
    assertEquals((await store.stats()).scheduled, 2);
  },
);

browserTest(
  "A list is filtered, turned round, leafed through and searched",
  async ({ page, site: { store }, go, press }) => {
    for (let i = 0; i < 55; i++) await push(store, `j${i}`, { args: [`<${i}>`], class: i % 50 ? "Many" : "Few" });
    const first = () => page.locator("tbody tr").first().innerText();
    await go("/queues/default");
    assert((await first()).includes("<0>"));
    await page.getByRole("link", { name: "Next" }).click();
    assert((await first()).includes("<50>"));
    await page.getByRole("link", { name: "⇤ First" }).click();
    await page.getByRole("link", { name: "Newest first" }).click();
    assert((await first()).includes("<54>"));
    await page.getByLabel("Class").fill("few");
    await press("Filter");
    await page.locator("tbody tr").nth(1).waitFor();
    assertEquals(await page.locator("tbody tr").count(), 2);
    await page.getByRole("link", { name: "Clear", exact: true }).click();
    await page.getByRole("searchbox", { name: "Search all jobs" }).fill("<17>");
    await page.keyboard.press("Enter");
    await page.locator("main", { hasText: "1 job found" }).waitFor();
    await page.locator("main a.class").click();
    await page.locator("h1", { hasText: "Many" }).waitFor();
  },
);

browserTest(
  "Nothing ticked, or moved on meanwhile: the page says so",
  async ({ page, site: { store }, go, press, says }) => {
    for (const jid of ["d1", "d2"]) await bury(store, jid);
    await go("/dead");
    assert(await page.getByRole("button", { name: "Retry ticked", exact: true }).isDisabled());
    await page.getByLabel("Tick all on this page").check();
    const { entries: [gone] } = await store.page({ in: "dead" });
    await store.edit([gone!.ref], "delete");
    await press("Retry ticked");
    await says("1 job put into their queues. 1 job had moved on meanwhile.");
  },
  { kinds: ["sqlite"] },
);
