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
  await go("/workers");
  await press("Quiet all");
  await says("Sent quiet to 2 workers.");
  await Promise.all([one, other].map((process) => process.logged("Quiet: taking no more jobs")));
  await press("Resume all");
  await says("Sent resume to 2 workers.");
  await Promise.all([one, other].map((process) => process.logged("Resumed: taking jobs")));
  await press(new RegExp(`^Dump .*:${one.pid}$`));
  await page.locator("pre", { hasText: "processor" }).waitFor();
  await press("Refresh");
  await page.locator("pre", { hasText: "processor" }).waitFor();

  for (const path of ["/running", "/jobs/"]) {
    const jid = `w-${path.length}`;
    await push(store, jid, { class: "Wait", args: ["/dev/null"] });
    await until(async () =>
      (await store.workers.list()).some(({ work }) => work.some(({ payload }) => payload.includes(jid)))
    );
    await go(path === "/running" ? path : path + jid);
    await press(path === "/running" ? `Cancel Wait ${jid}` : "Cancel");
    await press("Cancel the job");
    await says(`Cancelling ${jid}…`);
    await until(async () => await placeOf(store, jid) === undefined);
    if (path === "/running") await page.locator("#running", { hasText: "No jobs running" }).waitFor();
  }

  await go("/workers");
  await press(new RegExp(`^Stop .*:${one.pid}$`));
  await press("Stop the worker");
  await one.status();
  await go("/workers");
  await press(new RegExp(`^Stop .*:${other.pid}$`));
  await press("Stop the worker");
  await other.status();
}, { kind: "redis" });
