/**
 * The pictures of `docs/dashboard.md`: a shop's store after a day of work, in a real browser, at 2×.
 *
 *   deno run -A tests/web/pictures.ts [FOLDER]
 */
import { chromium, type Page } from "playwright-core";
import UPNG from "upng-js";
import { serve } from "../../src/web/http/serve.ts";
import { requireTool } from "../support/tools.ts";
import { fillShop } from "./shop.ts";
import { openSite } from "./site.ts";

const FOLDER = Deno.args[0] ?? new URL("../../docs/pictures", import.meta.url).pathname;
const WIDE = { width: 1280, height: 800 };
const PHONE = { width: 360, height: 740 };

/** Name → page. Each is taken in light; those of {@linkcode DARK} in dark. */
const PAGES: Readonly<Record<string, string>> = {
  overview: "/",
  dead: "/dead",
  errors: "/retrying?by=error",
  running: "/running",
  class: "/classes/Webhooks%3A%3ADeliver?over=24h",
  classes: "/classes",
  cron: "/cron",
  finished: "/finished",
  workers: "/workers",
  audit: "/audit",
};
const DARK: Readonly<Record<string, string>> = { "overview-dark": "/?range=24h", "queues-dark": "/queues" };

/** The number of colors in a picture: enough for text and charts, at a third of the bytes. */
const COLORS = 64;

/** Writes a picture of the page, in few colors. */
async function take(page: Page, name: string): Promise<void> {
  // A shop's store isn't in a temporary folder.
  await page.evaluate('document.querySelector(".store").textContent = "sqlite:/var/lib/jobs/jobs.db"');
  const shot = new Uint8Array(await page.screenshot());
  const { width, height, ...image } = UPNG.decode(shot.buffer);
  const pixels = UPNG.toRGBA8({ width, height, ...image });
  await Deno.writeFile(`${FOLDER}/${name}.png`, new Uint8Array(UPNG.encode(pixels, width, height, COLORS)));
}

await Deno.mkdir(FOLDER, { recursive: true });
await using site = await openSite("sqlite");
await fillShop(site.store, site.url);
await using server = await serve(site.web, { host: "127.0.0.1", port: 0 });
const base = `http://127.0.0.1:${server.address.port}`;
const browser = await chromium.launch({
  executablePath: requireTool("chromium-headless-shell"),
  args: ["--no-sandbox"],
});
try {
  const light = await browser.newPage({ viewport: WIDE, colorScheme: "light", deviceScaleFactor: 2 });
  const dark = await browser.newPage({ viewport: WIDE, colorScheme: "dark", deviceScaleFactor: 2 });
  const phone = await browser.newPage({ viewport: PHONE, colorScheme: "light", deviceScaleFactor: 2 });
  // The overviews come first: their workers send no more heartbeats, and are late after a while.
  for (const [page, pages] of [[dark, DARK], [light, PAGES]] as const) {
    for (const [name, path] of Object.entries(pages)) {
      await page.goto(base + path);
      await page.evaluate("document.fonts.ready");
      await take(page, name);
    }
  }
  await dark.goto(`${base}/dead`);
  await dark.locator("a.class").first().click();
  await dark.locator("article").waitFor();
  await take(dark, "job-dark");
  await phone.goto(`${base}/retrying`);
  await take(phone, "phone");
} finally {
  await browser.close();
}
