/** Texts of other programs: progress and logs of running jobs, and texts that break a layout instead of running a script. */
import { assertEquals } from "@std/assert";
import { browserTest } from "./browser.ts";
import { fillHostile, LIVE_XSS } from "../hostile.ts";
import { bury, push, workerRecord } from "../site.ts";
import type { Store } from "../../../src/store/admin/store.ts";

/** A text that a handler, a cron entry or a client can write. A row shows its beginning. */
const TEXT = [
  "\u202e\u2066abc\u202d",
  "\x00\x07\x1b[31m\x9b2J\r\u2028\ufeff",
  "﷽👨‍👩‍👧".repeat(10),
  `e${"\u0301".repeat(100)}`,
  "W".repeat(3_000),
].join("");

/** Runs a job in which every text is this one; returns a function that changes its progress and its log. */
async function run(store: Store, text: string): Promise<(text: string) => Promise<void>> {
  const worker = "web1:7:x";
  await push(store, "running", { queue: "taken", class: text, tags: [text] });
  await store.workers.heartbeat(workerRecord(worker), 60_000);
  const [lease] = await store.jobs.take({ queues: ["taken"], limit: 1, worker });
  const say = async (line: string) => {
    const said = { progress: line, lastLine: line, log: Array<string>(2_000).fill(line) };
    const work = [{ task: "processor 1", queue: "taken", payload: lease!.payload, since: Date.now(), ...said }];
    await store.workers.heartbeat(workerRecord(worker, { busy: 1, work }), 60_000);
  };
  await say(text);
  return say;
}

browserTest(
  "Progress and log lines run nothing, nor when a page follows them",
  async ({ page, site: { store }, go }) => {
    const ran: string[] = [];
    page.on("dialog", (dialog) => {
      ran.push(dialog.message());
      void dialog.dismiss();
    });
    const say = await run(store, "begun");
    await go("/running");
    await say(LIVE_XSS);
    for (const path of ["/running", "/jobs/running", "/"]) {
      if (path === "/running") await page.locator("main", { hasText: "<script>alert(2)" }).waitFor();
      else await go(path);
      assertEquals(
        await page.locator("x-attack, main img, main script, main [onload], main [onfocus]").count(),
        0,
        path,
      );
    }
    assertEquals(ran, []);
  },
);

/** Returns by how much the page is wider than its window. */
const EXCESS = (): number => {
  // deno-lint-ignore no-explicit-any -- runs in the page
  const { document, innerWidth } = globalThis as any;
  return Math.max(0, document.documentElement.scrollWidth - innerWidth);
};

browserTest(
  "No page is wider than its window, whatever its texts are",
  async ({ page, site: { store }, go }) => {
    const cron = await fillHostile(store, TEXT);
    await run(store, TEXT);
    const { entries: [dead] } = await store.admin.page({ in: "dead" });
    const broken: string[] = [];
    for (
      const path of [
        "/",
        "/running",
        "/queues/default",
        "/scheduled",
        "/signals",
        "/retrying",
        "/dead",
        "/finished",
        "/cron",
        `/cron/${encodeURIComponent(cron)}`,
        "/workers",
        "/audit",
        "/search?q=e",
        "/jobs/running",
        "/jobs/ended",
        `/jobs/x?ref=${encodeURIComponent(dead!.ref)}`,
      ]
    ) {
      await go(path);
      for (const width of [1_280, 390]) {
        await page.setViewportSize({ width, height: 800 });
        const excess = await page.evaluate(EXCESS);
        if (excess > 0) broken.push(`${path} of ${width}: ${excess} more`);
      }
    }
    assertEquals(broken, []);
  },
  { live: false },
);

browserTest("combining marks and text directions stay within their box", async ({ page, site: { store }, go }) => {
  await bury(store, "a2", { class: `e${"\u0301".repeat(300)}`, args: ["x"] });
  await bury(store, "a3", { class: "\u202eabc", args: ["first", "second"] });
  await page.setViewportSize({ width: 1_280, height: 600 });
  await go("/dead");
  // A class that reverses the direction of text leaves the arguments to its right.
  const turned = page.locator("tr", { hasText: "second" });
  const [name, args] = await Promise.all([
    turned.locator(".class").boundingBox(),
    turned.locator(".args").boundingBox(),
  ]);
  assertEquals(args!.x > name!.x, true);
  // Text that is painted above a cell is clipped. A picture would show more, but differs by the shades of a font.
  const overflow = (one: unknown) => {
    // deno-lint-ignore no-explicit-any -- runs in the page
    const { getComputedStyle } = globalThis as any;
    return getComputedStyle(one).overflow;
  };
  for (const path of ["/dead", "/jobs/a2"]) {
    await go(path);
    const boxes = await page.locator("main :is(.list td, .fields th, .fields td, h1)").all();
    assertEquals(new Set(await Promise.all(boxes.map((box) => box.evaluate(overflow)))), new Set(["clip"]), path);
  }
}, { live: false });
