/** Real workers and the buttons that control them. */
import { until } from "../../support/eventually.ts";
import { JobsProcess } from "../../support/process.ts";
import { placeOf, push } from "../site.ts";
import { browserTest } from "./browser.ts";

const HANDLERS = new URL("../../support/handlers.js", import.meta.url).pathname;

browserTest("workers quiet, resume, dump, cancel a job and stop when their buttons are pressed", async (tools) => {
  const { page, site: { store, url }, go, press, says } = tools;
  const start = (name: string) => new JobsProcess({ store: url, args: [HANDLERS, "-t", "0", "--name", name] });
  await using one = start("one");
  await using other = start("other");
  await Promise.all([one.logged("Ready"), other.logged("Ready")]);
  await go("/processes");
  await press("Quiet all");
  await says("Asked 2 processes to be quiet.");
  await Promise.all([one, other].map((process) => process.logged("Quiet: taking no more jobs")));
  await press("Resume all");
  await says("Asked 2 processes to resume.");
  await Promise.all([one, other].map((process) => process.logged("Resumed: taking jobs")));
  await press(new RegExp(`^Dump .*:${one.pid}$`));
  await page.locator("pre", { hasText: "processor" }).waitFor();
  await press("Again");
  await page.locator("pre", { hasText: "processor" }).waitFor();

  for (const path of ["/busy", "/jobs/"]) {
    const jid = `w-${path.length}`;
    await push(store, jid, { class: "Wait", args: ["/dev/null"] });
    await until(async () =>
      (await store.processes()).some(({ work }) => work.some(({ payload }) => payload.includes(jid)))
    );
    await go(path === "/busy" ? path : path + jid);
    await press(path === "/busy" ? `Cancel Wait ${jid}` : "Cancel");
    await says(`Asked for the end of ${jid}.`);
    await until(async () => await placeOf(store, jid) === undefined);
    if (path === "/busy") await page.locator("#busy", { hasText: "Nothing runs" }).waitFor();
  }

  await go("/processes");
  await press(new RegExp(`^Stop .*:${one.pid}$`));
  await press("Yes, stop");
  await one.status();
  await go("/processes");
  await press(new RegExp(`^Stop .*:${other.pid}$`));
  await press("Yes, stop");
  await other.status();
}, { kind: "redis" });
