/** Texts that contain markup, on every page: they show as text, and no page needs anything that its policy forbids. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { fillHostile, XSS } from "./hostile.ts";
import { onBothStores, PAGES } from "./site.ts";

onBothStores("no text of a payload, a process or an address is markup on any page", async ({ store, visitor }) => {
  const cronName = await fillHostile(store, XSS);
  const someone = visitor();
  const [entry] = (await store.admin.page({ in: "dead" })).entries;
  const query = encodeURIComponent(XSS);
  const addresses = [
    ...PAGES.filter((path) => path !== "/events"),
    `/search?q=${query}`,
    `/dead?q=${query}&class=${query}&order=${query}`,
    `/dead?cursor=${query}`,
    `/jobs/${query}`,
    `/jobs/x?ref=${encodeURIComponent(entry!.ref)}`,
    `/jobs/x/edit?ref=${encodeURIComponent(entry!.ref)}`,
    "/jobs/ended",
    `/cron/${encodeURIComponent(cronName)}`,
    `/cron/${encodeURIComponent(cronName)}/edit`,
    "/cron-new",
    `/finished?q=${query}`,
    `/audit?limit=${query}`,
    `/audit?cursor=${query}`,
    `/?days=${query}`,
    `/queues/${query}`,
    `/push?class=${query}`,
    `/login?next=${query}`,
    `/${query}`,
    "/nope",
    "/assets/live.js",
  ];
  for (const address of addresses) {
    const { text, status, headers } = await someone.visit(address);
    assert(status < 500, `${address}: ${status}`);
    const policy = headers.get("content-security-policy") ?? "";
    assertStringIncludes(policy, "default-src 'none'", address);
    assert(!policy.includes("unsafe"), address);
    assertEquals(headers.get("x-content-type-options"), "nosniff", address);
    if (address.startsWith("/assets")) continue;
    assertEquals(headers.get("cache-control"), "no-store", address);
    if (address.startsWith("/api") || address === "/metrics") continue;
    assert(!text.includes("<x-attack"), address);
    assert(!/<script(?![^>]* src=)|<style|<[^>]*\sstyle=|<[^>"']*(?:"[^"]*"[^>"']*)*\son\w+=/i.test(text), address);
  }
  someone.cookies.set("jobs_flash", encodeURIComponent(`ok ${XSS}`));
  someone.cookies.set("jobs_theme", encodeURIComponent(XSS));
  assert(!(await someone.visit("/")).text.includes("<x-attack"));
  const refused = await someone.submit("/push", { class: XSS, args: XSS, queue: XSS }, "/push");
  assert(!refused.text.includes("<x-attack"));
  const typed = { name: XSS, rule: XSS, every: XSS, timezone: XSS, class: XSS, args: XSS, queue: XSS };
  for (const more of [{}, { args: "[]", every: "" }, { args: "[]", every: "", rule: "* * * * *", queue: "" }]) {
    assert(!(await someone.submit("/cron-new", { ...typed, ...more }, "/cron-new")).text.includes("<x-attack"));
  }
});
