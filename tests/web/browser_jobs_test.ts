/** Lists of jobs and the pages of one, in a real browser: found, pushed, pushed again. */
import { assert, assertEquals } from "@std/assert";
import { browserTest } from "./browser.ts";
import { bury, placeOf, push, PUT } from "./site.ts";

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
