/**
 * Five incidents, staged on a real store with real workers. The overview shows each, and at most three clicks lead to the
 * cure or the cause.
 */
import { assert, assertEquals } from "@std/assert";
import { Client } from "../../../src/client/client.ts";
import { Crontab } from "../../../src/client/crontab.ts";
import { until } from "../../support/eventually.ts";
import { JobsProcess, MORTAL } from "../../support/process.ts";
import { bury, PATIENT, placeOf, push } from "../site.ts";
import { type BrowserOptions, browserTest, type Tools } from "./browser.ts";

const HANDLERS = new URL("../../support/handlers.js", import.meta.url).pathname;
const HOUR_MS = 3_600_000;

function incident(name: string, test: (tools: Tools) => Promise<void>, options: BrowserOptions = {}): void {
  for (const kind of ["sqlite", "redis"] as const) {
    browserTest(`incident: ${name} (${kind})`, test, { ...options, kind });
  }
}

function startWorker({ site }: Tools, args: readonly string[] = [], env: Record<string, string> = {}): JobsProcess {
  return new JobsProcess({ store: site.url, args: [HANDLERS, "-t", "0", ...args], env });
}

/** Opens the overview with an alert that contains the text, and returns that alert. */
async function alertOn({ page, go }: Tools, text: string) {
  const alert = page.locator(".alerts li", { hasText: text });
  // Alerts are cached for two seconds.
  await until(async () => {
    await go("/");
    return await alert.count() === 1;
  });
  return alert;
}

incident("a bad deploy fails all jobs; their error is two clicks from a retry of all", async (tools) => {
  const { page, site: { store }, press, says } = tools;
  for (let i = 0; i < 24; i++) await push(store, `f${i}`, { class: "ThrowNull", args: [i] });
  await using worker = startWorker(tools);
  await worker.logged("Ready");
  await until(async () => (await store.admin.stats()).retry === 24);
  // The first retry is due after at least 15 s. Without a worker, the jobs stay in `retry`.
  worker.kill("SIGKILL");
  await worker.status();
  const alert = await alertOn(tools, "of attempts failed");
  assertEquals(await alert.getByRole("button", { name: "Pause queue default" }).count(), 1);
  await alert.getByRole("link", { name: "Show errors" }).click();
  await page.locator(".heading", { hasText: "24 jobs in 1 group" }).waitFor();
  await page.locator("tbody tr", { hasText: "ThrowNull" }).getByRole("button", { name: /^Retry all/ }).click();
  await press("Retry 24 jobs");
  await says("24 jobs queued.");
});

incident("a queue is stuck because no worker fetches from it, or because it is paused", async (tools) => {
  const { page, site: { store }, says } = tools;
  await push(store, "m1", { class: "Noop", args: [], queue: "mail" });
  await push(store, "l1", { class: "Noop", args: [], queue: "low" });
  await store.admin.configure("mail", { pause: true });
  await using worker = startWorker(tools, ["-q", "default", "-q", "mail"]);
  await worker.logged("Ready");
  const alert = await alertOn(tools, 'Queue "low" has no worker (1 job waiting');
  assert((await alert.innerText()).includes("jobs run handlers.js -q low"));
  await alert.getByRole("link", { name: "Show queue" }).click();
  await page.locator(".heading", { hasText: "no worker" }).waitFor();
  await page.locator("tbody a.class").click();
  await page.locator(".reasons", { hasText: "low" }).waitFor();

  await (await alertOn(tools, 'Queue "mail" is paused')).getByRole("button", { name: "Resume queue mail" }).click();
  await says("Queue mail resumed.");
  await until(async () => await placeOf(store, "m1") === undefined);
});

incident("a poison job crashes its workers; one click shows the job with its error", async (tools) => {
  const { page, site: { store } } = tools;
  // Burial itself requires several dead workers: tests/server/burial_test.ts.
  const message = "its worker died 3 times while it ran";
  const at = Math.floor(Date.now() / 1_000);
  await bury(store, "p1", { class: "Thumbnail", error_class: "WorkerDied", error_message: message, failed_at: at });
  const alert = await alertOn(tools, "Thumbnail crashes its workers: 1 job moved to dead");
  await alert.getByRole("link", { name: "Show job" }).click();
  await page.locator(".failure", { hasText: message }).waitFor();
  assertEquals(await page.getByRole("button", { name: "Delete" }).count(), 1);
});

incident("a worker dies; the alert names it, and one click shows its last heartbeat", async (tools) => {
  const { page, site: { store } } = tools;
  await using worker = startWorker(tools, [], MORTAL);
  await worker.logged("Ready");
  await push(store, "w1", { class: "Wait", args: ["/dev/null"] });
  await until(async () => (await store.workers.list()).some(({ work }) => work.length > 0));
  worker.kill("SIGKILL");
  await worker.status();
  await push(store, "n1", { class: "Noop", args: [] });
  await until(async () => (await store.workers.list()).every(({ alive }) => !alive));
  const alert = await alertOn(tools, "1 worker is offline");
  assert((await alert.innerText()).includes(`:${worker.pid}`), await alert.innerText());
  assertEquals(await page.locator(".alerts li", { hasText: "No worker is running" }).count(), 1);
  await alert.getByRole("link", { name: "Show workers" }).click();
  await page.locator("tr", { hasText: `:${worker.pid}` }).locator(".badge.bad", { hasText: "offline" }).waitFor();
});

incident("a cron entry did not run; one click runs it now", async (tools) => {
  const { site: { store }, says } = tools;
  const crontab = new Crontab({ store, client: new Client({ store }) });
  await using worker = startWorker(tools);
  await worker.logged("Ready");
  await crontab.add({ name: "sync stock", class: "Noop", every: "10m" });
  await until(async () => (await crontab.get("sync stock"))?.state !== undefined);
  worker.kill("SIGKILL");
  await worker.status();
  const alert = await alertOn(tools, 'Cron entry "sync stock" did not run: due ');
  await alert.getByRole("button", { name: "Run now" }).click();
  await says("Cron entry sync stock is enqueued as ");
  assertEquals((await store.admin.stats()).enqueued, 1);
}, { web: { clock: { ...PATIENT, now: () => PATIENT.now() + 2 * HOUR_MS } } });
