/**
 * The dashboard in a real browser: Debian's Chromium, driven by Playwright. Whatever a page says on its console is a
 * failure of the test: also a script that the policy refused.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { serve } from "../../src/web/serve.ts";
import type { WebOptions } from "../../src/web/web.ts";
import { openSite, type Site } from "./site.ts";

/** What a test in a browser has at hand. */
export interface Tools {
  readonly page: Page;
  readonly site: Site;
  /** Where the dashboard is, without a slash at its end. */
  readonly base: string;
  readonly browser: Browser;
  /** Opens a page of the dashboard. */
  go(path: string): Promise<void>;
  /** Presses the button with exactly that name: what a screen reader says. */
  press(name: string | RegExp): Promise<void>;
  /** Waits for the message that an action leaves. */
  says(text: string): Promise<void>;
  /** What pages have said on their consoles. */
  readonly complaints: string[];
}

/** How a test wants it. */
export interface BrowserOptions {
  /** On which stores; default both. */
  readonly kinds?: readonly ("sqlite" | "redis")[];
  readonly web?: Partial<WebOptions>;
  readonly context?: BrowserContextOptions;
}

/** One for all tests of a file: it takes as long to start as a test. */
let browser: Browser;
Deno.test.beforeAll(async () => {
  browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
});
Deno.test.afterAll(() => browser.close());

/** A test with a visitor of its own, on each store at the same time. */
export function browserTest(
  name: string,
  test: (tools: Tools) => Promise<void>,
  { kinds = ["sqlite", "redis"], web = {}, context = {} }: BrowserOptions = {},
): void {
  const open = async (kind: "sqlite" | "redis") => {
    await using site = await openSite(kind, web);
    await using server = await serve(site.web, { host: "127.0.0.1", port: 0 });
    const visitor = await browser.newContext(context);
    try {
      const page = await visitor.newPage();
      const tools = toolsOf(page, site, `http://127.0.0.1:${server.address.port}${web.prefix ?? ""}`, browser);
      await test(tools);
      assertEquals(tools.complaints, []);
    } finally {
      await visitor.close();
    }
  };
  const onAll = () =>
    Promise.all(kinds.map((kind) =>
      open(kind).catch((error) => {
        throw new Error(`On ${kind}: ${(error as Error).message}`, { cause: error });
      })
    ));
  // Playwright keeps a pipe to the browser that Deno's sanitizers take for a leak of the test.
  Deno.test({
    name: `${name} (${kinds.join(", ")})`,
    sanitizeOps: false,
    sanitizeResources: false,
    fn: async () => void await onAll(),
  });
}

function toolsOf(page: Page, site: Site, base: string, browser: Browser): Tools {
  const complaints: string[] = [];
  page.on("console", (message) => {
    // A page may be refused, and a job may have gone when a live page asks for it again.
    const isRefusal = /status of 4\d\d/.test(message.text()) && !message.location().url.includes("/assets/");
    if (!isRefusal) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.setDefaultTimeout(60_000);
  return {
    page,
    site,
    base,
    browser,
    complaints,
    go: async (path) => void await page.goto(base + path),
    press: (name) => page.getByRole("button", { name, exact: true }).first().click(),
    says: async (text) => {
      await page.locator(".flash", { hasText: text }).waitFor().catch(async () => {
        throw new Error(`The page does not say "${text}", but: ${await page.locator("main").innerText()}`);
      });
    },
  };
}
