/** The look of pages: times in the viewer's zone, light and dark. */
import { assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { RUN_BOUNDS_MS } from "../../../src/store/port/metrics.ts";
import { push, workerRecord } from "../site.ts";
import { asleep } from "../asleep.ts";
import { browserTest } from "./browser.ts";

browserTest("times are in the viewer's zone, and colors follow the system or the viewer's choice", async (tools) => {
  const { page, site: { store }, go, press } = tools;
  await push(store, "s1", {}, 3_600_000);
  await go("/scheduled");
  const time = page.locator("tbody time").first();
  assertMatch(await time.innerText(), /^in (59m|1h)/);
  assertMatch(await time.getAttribute("title") ?? "", /GMT\+9|JST/);
  assertMatch(await page.locator(".side-foot time").innerText(), /GMT\+9|JST/);
  await asleep(store);
  await go("/jobs/o1");
  for (const text of [".reasons li", "td[data-label=Details] time"]) {
    assertMatch(await page.locator(text).first().innerText(), /\d\d:\d\d:00 (GMT\+9|JST)/, text);
  }

  const ground = () => page.evaluate("getComputedStyle(document.body).backgroundColor");
  const dark = await ground();
  await page.emulateMedia({ colorScheme: "light" });
  const light = await ground();
  assertNotEquals(dark, light);
  await press("Theme: dark");
  await page.locator("html[data-theme=dark]").waitFor();
  assertEquals(await ground(), dark);
  await page.emulateMedia({ colorScheme: "dark" });
  await press("Theme: light");
  await page.locator("html[data-theme=light]").waitFor();
  assertEquals(await ground(), light);
  await press("Theme: auto");
  await page.locator("html:not([data-theme])").waitFor();
  assertEquals(await ground(), dark);
}, { live: false, context: { timezoneId: "Asia/Tokyo", colorScheme: "dark" } });

browserTest(
  "a page keeps its place when its scripts draw the charts",
  async ({ page, site: { store }, go, complaints }) => {
    const histogram = new Array(RUN_BOUNDS_MS.length + 1).fill(7);
    await store.series.add("classes", [{ class: "Report", processed: 200, failed: 18, workedMs: 9_000, histogram }]);
    await store.series.add("queues", [{ queue: "default", size: 3, latencyMs: 90_000 }]);
    const height = () => page.evaluate("document.querySelector('main').scrollHeight");
    for (const path of ["/", "/classes/Report"]) {
      for (const width of [360, 1280, 2200]) {
        await page.setViewportSize({ width, height: 800 });
        await page.route("**/*.js?*", (route) => route.abort());
        await go(path);
        const before = await height();
        await page.unrouteAll();
        await go(path);
        await page.locator(".u-legend").last().waitFor();
        assertEquals(await height(), before, `${path} at ${width}`);
      }
    }
    complaints.length = 0; // of the refused scripts
  },
  { live: false },
);

browserTest("a chart of an empty queue is a line of zeros, and numbers end below their headings", async (tools) => {
  const { page, site: { store }, go } = tools;
  await push(store, "q1");
  await store.series.add("queues", [{ queue: "default", size: 0, latencyMs: 0 }]);
  await store.workers.heartbeat(workerRecord("w:1:a", {}), 60_000);
  await go("/");
  const ends = (selector: string) =>
    page.locator(selector).first().evaluate((cell) => {
      const range = cell.ownerDocument.createRange();
      range.selectNodeContents(cell);
      return Math.round(range.getBoundingClientRect().right);
    });
  for (const [list, heading, number] of [["#queues", "Queued", "queued"], ["#workers", "Running", "running"]]) {
    const cell = page.locator(`${list} td[data-label="${heading}"] .measured`).first();
    const { x, width } = (await cell.boundingBox())!;
    assertEquals(Math.round(x + width), await ends(`${list} th:has-text("${heading}")`), number);
  }
  await page.locator("#chart-depth .u-legend").waitFor();
  assertEquals(await page.locator("#chart-depth .note").count(), 0);
}, { live: false });
