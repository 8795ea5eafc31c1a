/** Each action on jobs, in a real browser: on one, on those ticked, on all matching, on all. */
import { assertEquals } from "@std/assert";
import { actionsIn, type JobAction, parsePlace, placePath } from "../../src/web/places.ts";
import { browserTest, type Tools } from "./browser.ts";
import { placeOf, PUT } from "./site.ts";

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
