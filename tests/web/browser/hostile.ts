/** Attacks that only a real browser shows: scripts that it would run, and cookies that it sends for another site. */
import { assert, assertEquals } from "@std/assert";
import { browserTest, QUICK } from "./browser.ts";
import { fillHostile, LIVE_XSS } from "../hostile.ts";
import { bury, placeOf, push } from "../site.ts";

browserTest("hostile texts run nothing on any page, nor when a live page shows them", async (tools) => {
  const { page, site: { store }, go } = tools;
  const ran: string[] = [];
  page.on("dialog", (dialog) => {
    ran.push(dialog.message());
    void dialog.dismiss();
  });
  await go("/");
  const paths = await page.locator("nav a[data-key]").evaluateAll((links) => links.map((a) => a.getAttribute("href")!));
  await go("/running");
  const cron = await fillHostile(store, LIVE_XSS);
  // The script inserted the jobs that were pushed while the page was open.
  await page.locator("#running code", { hasText: "<script>" }).first().waitFor();
  const query = encodeURIComponent(LIVE_XSS);
  const [retry, dead] = await Promise.all((["retry", "dead"] as const).map(async (set) => {
    const { entries: [entry] } = await store.admin.page({ in: set });
    return encodeURIComponent(entry!.ref);
  }));
  for (const path of ["/dead", `/jobs/x?ref=${dead}`, `/jobs/x/edit?ref=${dead}`, `/push?class=${query}`]) {
    await go(path);
    assertEquals(await page.locator(FOREIGN).count(), 0, path);
  }
  const more = [
    `/jobs/x?ref=${retry}`,
    "/jobs/ended",
    "/queues/default",
    `/cron/${encodeURIComponent(cron)}`,
    `/cron/${encodeURIComponent(cron)}/edit`,
    `/search?q=${query}`,
    `/dead?q=${query}&class=${query}`,
    `/${query}`,
  ];
  for (const path of [...paths, ...more]) assertEquals(await page.evaluate(COUNT, [path, FOREIGN]), 0, path);
  assertEquals(ran, []);
}, { web: { clock: QUICK } });

/** Elements and attributes that the dashboard's pages don't have. */
const FOREIGN = "x-attack, [onerror], [onload], [onfocus], a[href^=javascript], script:not([src^='/assets/'])";

/** The number of foreign elements that the browser finds in a page; runs none of them. */
const COUNT = async ([path, foreign]: string[]): Promise<number> => {
  // deno-lint-ignore no-explicit-any -- runs in the page, where there is a parser
  const { DOMParser } = globalThis as any;
  const text = await (await fetch(path!)).text();
  return new DOMParser().parseFromString(text, "text/html").querySelectorAll(foreign).length;
};

/** Another site's page with its attempts; its title shows their outcome. */
const EVIL = (base: string) =>
  `<!doctype html><title>trying</title><body>
<iframe name="hidden" srcdoc="x"></iframe><iframe src="${base}/dead"></iframe><img src="${base}/queues/default/pause">
<form id="form" method="post" action="${base}/jobs/act" target="hidden">
  <input name="in" value="dead"><input name="do" value="delete:all"><input name="confirmed" value="yes"></form>
<form id="text" method="post" enctype="text/plain" action="${base}/api/v1/actions" target="hidden">
  <input name='{"action":"delete","all":{"in":"dead"},"x":"' value='"}'></form>
<script>
addEventListener("load", async () => {
  document.getElementById("form").submit();
  document.getElementById("text").submit();
  const body = JSON.stringify({ action: "delete", all: { in: "dead" } });
  const tried = [];
  const attempt = async (what, path, init) => {
    try { const answer = await fetch("${base}" + path, { credentials: "include", ...init }); tried.push(what + " " + answer.type + (answer.type === "opaque" ? "" : answer.status)); }
    catch { tried.push(what + " refused"); }
  };
  await attempt("json", "/api/v1/actions", { method: "POST", body, headers: { "content-type": "application/json" } });
  await attempt("plain", "/api/v1/actions", { method: "POST", body, mode: "no-cors" });
  await attempt("form", "/queues/default/pause", { method: "POST", mode: "no-cors", body: new URLSearchParams({ token: "x" }) });
  await attempt("read", "/api/v1/stats", {});
  await attempt("page", "/dead", {});
  const events = new EventSource("${base}/events", { withCredentials: true });
  await new Promise((done) => { events.onopen = () => { tried.push("events open"); done(); }; events.onerror = () => { tried.push("events refused"); done(); }; });
  events.close();
  const opened = document.querySelectorAll("iframe")[1];
  let seen = "frame closed";
  try { seen = opened.contentDocument.title ? "frame open" : seen; } catch {}
  tried.push(seen);
  document.title = tried.join(", ");
});
</script>`;

browserTest(
  "a page of another site changes, reads, watches and frames nothing",
  async (tools) => {
    const { page, site: { store }, base, go, complaints } = tools;
    await bury(store, "d1");
    await push(store, "q1");
    const evil = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      () => new Response(EVIL(base), { headers: { "content-type": "text/html" } }),
    );
    try {
      // A dashboard without a login is the easiest target.
      await go("/");
      for (const host of ["localhost", "127.0.0.1"]) {
        await page.goto(`http://${host}:${evil.addr.port}/`);
        await page.waitForFunction("document.title !== 'trying'");
        assertEquals(
          await page.title(),
          "json refused, plain refused, form refused, read refused, page refused, events refused, frame closed",
          host,
        );
        assertEquals([await placeOf(store, "d1"), await placeOf(store, "q1")], ["dead", "queue:default"]);
        assertEquals(
          (await store.admin.stats()).queues.some((queue) => queue.paused),
          false,
        );
      }
      assert(complaints.length > 0, "the browser reports the refusals");
      complaints.length = 0;
    } finally {
      await page.goto("about:blank");
      await evil.shutdown();
    }
  },
);
