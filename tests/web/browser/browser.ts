/**
 * The dashboard in a real browser: Chromium, driven by Playwright. A message on a page's console fails the test, for
 * example a script that the page's policy refused.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import type { Clock } from "../../../src/clock.ts";
import { WATCHED_INTERVAL_MS } from "../../../src/web/read/live_stats.ts";
import { serve } from "../../../src/web/http/serve.ts";
import type { WebOptions } from "../../../src/web/web.ts";
import { shareRedis } from "../../support/shared_redis.ts";
import { requireTool } from "../../support/tools.ts";
import { openSite, PATIENT, type Site } from "../site.ts";

/** The tools of a browser test. */
export interface Tools {
  readonly page: Page;
  readonly site: Site;
  /** The dashboard's address, without a slash at its end. */
  readonly base: string;
  /** Opens a page of the dashboard. */
  go(path: string): Promise<void>;
  /** Presses the button with exactly this accessible name. */
  press(name: string | RegExp): Promise<void>;
  /** Waits for the message of an action. */
  says(text: string): Promise<void>;
  /** The messages on the consoles of the pages. */
  readonly complaints: string[];
}

/** Options of a browser test. */
export interface BrowserOptions {
  /** Default SQLite: `forms_test.ts` presses the buttons on both. */
  readonly kind?: "sqlite" | "redis";
  /** Whether pages update live; default true. */
  readonly live?: boolean;
  readonly web?: Partial<WebOptions>;
  readonly context?: BrowserContextOptions;
}

const CHROMIUM = "chromium-headless-shell";

/** A page, a message or an element that doesn't come within this time fails the test. */
const TIMEOUT_MS = 60_000;

/** A clock with which a live page gets the counts every 100 ms instead of every 2 s. */
export const QUICK: Clock = {
  ...PATIENT,
  sleep: (ms, signal) => PATIENT.sleep(ms === WATCHED_INTERVAL_MS ? 100 : ms, signal),
};

/** One browser for all tests: starting it takes longer than most of them. It ends with the test process. */
let browser: Browser | undefined;
Deno.test.afterAll(async () => await browser?.close());
shareRedis();

/** Registers a test with a new visitor and a new dashboard. */
export function browserTest(
  name: string,
  test: (tools: Tools) => Promise<void>,
  { kind = "sqlite", live = true, web = {}, context = {} }: BrowserOptions = {},
): void {
  const fn = async () => {
    browser ??= await chromium.launch({ executablePath: requireTool(CHROMIUM), args: ["--no-sandbox"] });
    await using site = await openSite(kind, web);
    await using server = await serve(site.web, { host: "127.0.0.1", port: 0 });
    const origin = `http://127.0.0.1:${server.address.port}`;
    const localStorage = live ? [] : [{ name: "jobs.live", value: "off" }];
    const storageState = { cookies: [], origins: [{ origin, localStorage }] };
    const visitor = await browser.newContext({ ...context, storageState });
    try {
      const page = await visitor.newPage();
      const tools = toolsOf(page, site, `${origin}${web.prefix ?? ""}`);
      await test(tools);
      // A request in flight through a test's route fails when the page closes.
      await page.unrouteAll({ behavior: "ignoreErrors" });
      assertEquals(tools.complaints, []);
    } finally {
      await visitor.close();
    }
  };
  // Playwright keeps a pipe to the browser, which Deno's sanitizers report as a leak.
  Deno.test({ name, sanitizeOps: false, sanitizeResources: false, fn });
}

function toolsOf(page: Page, site: Site, base: string): Tools {
  const complaints: string[] = [];
  page.on("console", (message) => {
    // A page may be refused, and a live page may request a job that is gone.
    const isRefusal = /status of 4\d\d/.test(message.text()) && !message.location().url.includes("/assets/");
    if (!isRefusal) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.setDefaultTimeout(TIMEOUT_MS);
  return {
    page,
    site,
    base,
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
