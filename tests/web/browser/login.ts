/** Logging in and out. */
import { assertEquals } from "@std/assert";
import type { Page } from "playwright-core";
import { systemClock } from "../../../src/clock.ts";
import { newToken } from "../../../src/web/auth/accounts.ts";
import { quickSecret } from "../site.ts";
import { browserTest } from "./browser.ts";

const { token: TOKEN, secret } = newToken();
const USERS = [`ann:operator:${quickSecret("correct horse")}`, `ci:reader:${secret}`];
/** Stands still for the waits between guesses, however slow the browser is. */
const STILL = { ...systemClock, monotonic: () => 0 };

async function logIn(page: Page, name: string, password: string): Promise<void> {
  await page.getByLabel("Name").fill(name);
  await page.getByLabel("Password or token").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
}

browserTest(
  "a visitor logs in, logs out, and waits after too many guesses",
  async ({ page, site, base, go, press }) => {
    await go("/dead?class=a");
    await page.waitForURL("**/login?next=*");
    await logIn(page, "ann", "wrong horse");
    await page.getByRole("alert").filter({ hasText: "Name or password is wrong." }).waitFor();
    await logIn(page, "ann", "correct horse");
    await page.waitForURL(`${base}/dead?class=a`);
    assertEquals(await page.evaluate("document.cookie"), "", "no script reads the session");
    await press("Sign out (ann)");
    await page.waitForURL(`${base}/login`);
    await logIn(page, "", TOKEN);
    await page.getByText("read-only").waitFor();
    await press("Sign out (ci)");
    await page.waitForURL(`${base}/login`);
    const guess = { method: "POST", body: new URLSearchParams({ name: "ann", password: "x" }) };
    for (let i = 0; i < 5; i++) assertEquals((await site.visitor().send("/login", guess)).status, 401);
    await logIn(page, "ann", "correct horse");
    await page.getByRole("alert").filter({ hasText: "Too many attempts: wait 1 s." }).waitFor();
  },
  { web: { users: USERS, clock: STILL } },
);
