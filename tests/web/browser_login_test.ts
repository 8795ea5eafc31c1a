/** Logging in and out, and what readers may not, in a real browser. */
import { assert, assertEquals } from "@std/assert";
import type { Page } from "playwright-core";
import { systemClock } from "../../src/clock.ts";
import { newToken, passwordSecret } from "../../src/web/auth/accounts.ts";
import { browserTest } from "./browser.ts";
import { bury, placeOf, processRecord, push } from "./site.ts";

const PASSWORD = await passwordSecret("correct horse");
const { token: TOKEN, secret } = newToken();
/** Waits do not pass meanwhile, however long the browser takes. */
const STILL = { ...systemClock, monotonic: () => 0 };
const USERS = [`ann:operator:${PASSWORD}`, `ci:reader:${secret}`];

async function logIn(page: Page, name: string, password: string): Promise<void> {
  await page.getByLabel("Name").fill(name);
  await page.getByLabel("Password or token").fill(password);
  await page.getByRole("button", { name: "Log in" }).click();
}

browserTest("Wrong, right, out again, and locked out after too many", async ({ page, base, go, press }) => {
  await go("/dead?class=a");
  await page.waitForURL("**/login?next=*");
  await logIn(page, "ann", "wrong horse");
  await page.getByRole("alert").filter({ hasText: "Name or password is wrong." }).waitFor();
  await logIn(page, "ann", "correct horse");
  await page.waitForURL(`${base}/dead?class=a`);
  assertEquals(await page.evaluate("document.cookie"), "", "no script reads the session");
  await press("Log out ann");
  await page.waitForURL(`${base}/login`);
  await go("/dead");
  await page.waitForURL("**/login?next=*");
  for (let i = 0; i < 5; i++) {
    await logIn(page, "bob", `guess ${i}`);
    await page.getByRole("alert").filter({ hasText: "Name or password is wrong." }).waitFor();
  }
  await logIn(page, "ann", "correct horse");
  await page.getByRole("alert").filter({ hasText: "Too many attempts: wait 1 s." }).waitFor();
}, { web: { users: USERS, clock: STILL }, kinds: ["sqlite"] });

browserTest("Read-only, an operator is a reader", async ({ page, site: { store }, go }) => {
  await bury(store, "d1");
  await go("/dead");
  await logIn(page, "ann", "correct horse");
  await page.getByText("read-only").waitFor();
  assertEquals(await page.getByRole("button", { name: "Retry" }).count(), 0);
  assert(!(await page.content()).includes("New job"));
}, { web: { users: USERS, readOnly: true }, kinds: ["sqlite"] });

browserTest("Whoever looks sees no buttons, and is refused", async ({ page, site: { store }, base, go, press }) => {
  await bury(store, "d1");
  await push(store, "q1");
  await store.beat(processRecord("web1:7:abc"), 60_000);
  await go("/");
  await logIn(page, "", TOKEN);
  await page.getByText("read-only").waitFor();
  for (const path of ["/", "/busy", "/queues", "/queues/default", "/dead", "/jobs/d1", "/cron", "/processes"]) {
    await go(path);
    const actions = await page.locator("form[method=post]").evaluateAll((forms) =>
      forms.map((form) => form.getAttribute("action")).filter((action) =>
        !["/theme", "/logout", "/jobs/act"].includes(action!)
      )
    );
    assertEquals(actions, [], path);
    assertEquals(await page.locator("[name=do], [name=ref]").count(), 0, path);
  }
  const token = await page.locator("[name=token]").first().getAttribute("value");
  const ask = async (path: string, fields: Record<string, string>) => {
    const answer = page.waitForResponse((response) => response.request().method() === "POST");
    await page.evaluate(
      ([path, body]) => fetch(path!, { method: "POST", body: new URLSearchParams(body!) }).then(() => {}),
      [base + path, new URLSearchParams({ token: token!, ...fields }).toString()],
    );
    return (await answer).status();
  };
  const statuses = [
    await ask("/jobs/act", { in: "dead", do: "delete:all", confirmed: "yes" }),
    await ask("/queues/default/pause", {}),
    await ask("/processes/stop", { confirmed: "yes" }),
    await ask("/push", { class: "A", args: "[]" }),
  ];
  assertEquals(statuses, [403, 403, 403, 403]);
  assertEquals(await placeOf(store, "d1"), "dead");
  assertEquals(await store.receive("web1:7:abc", AbortSignal.abort()).catch(() => []), []);
  await press("Log out ci");
  await page.waitForURL(`${base}/login`);
}, { web: { users: USERS } });
