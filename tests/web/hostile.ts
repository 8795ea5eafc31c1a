/**
 * A store in which every text is hostile: those of payloads, workers, records, cron entries and the audit log.
 *
 * @module
 */
import { recordEvent } from "../../src/store/admin/audit.ts";
import { Client } from "../../src/client/client.ts";
import { Crontab } from "../../src/client/crontab.ts";
import { bury, fail, push } from "./site.ts";
import type { Store } from "../../src/store/admin/store.ts";
import { keepRecord } from "../support/records.ts";

/** Closes any surrounding element or attribute, and adds an element with an event handler. */
export const XSS = `"'><x-attack onfocus=alert(1)>\${1}</title></script><x-attack>&lt;\u2028`;
/** Also adds elements that a browser would run. */
export const LIVE_XSS =
  `"'></title></textarea></pre><x-attack></x-attack><img src=x onerror=alert(1)><script>alert(2)</script>` +
  `<svg onload=alert(3)><a href="javascript:alert(4)" autofocus onfocus=alert(5)>`;

/** Fills the store with the text; returns the name of the cron entry. */
export async function fillHostile(store: Store, text: string): Promise<string> {
  const hostile = {
    class: text,
    args: [text, { [text]: [text] }],
    display_class: text,
    wrapped: text,
    tags: [text],
    error_class: text,
    error_message: text,
    error_backtrace: text,
    failed_at: text,
    created_at: text,
    enqueued_at: text,
    retried_at: 1e300,
    errors: [{ at: 1.7e9, error_class: text, error_message: text }, {
      at: 1e300,
      error_class: "",
      error_message: text,
    }],
    retry_count: text,
    [text]: text,
  };
  await bury(store, "d1", hostile);
  await bury(store, text, { ...hostile, error_backtrace: "eJyLVnIrzUsuyczPU4rVUUrOzy0oSi0uTk1RigUAiqkJNA==" });
  await push(store, "q1", hostile);
  await push(store, "q2", { ...hostile, class: "Plain", tags: text, error_class: { [text]: 1 } });
  await push(store, "s1", hostile, 60_000);
  await store.jobs.enqueue([{ jid: "r1", queue: "default", payload: `${text} no JSON` }]).catch(() => {});
  await store.workers.heartbeat({
    id: `${text}:1:x`,
    hostname: text,
    pid: 1,
    tag: text,
    labels: [text],
    queues: [text, "default"],
    weights: { [text]: 1, default: 1 },
    concurrency: 1,
    version: text,
    startedAt: 0,
    quiet: false,
    busy: 1,
    rss: 1,
    work: [{
      task: text,
      queue: text,
      payload: JSON.stringify({ jid: text, ...hostile }),
      since: 0,
      progress: text,
      lastLine: text,
      log: [text, text],
    }],
  }, 60_000);
  const ended = {
    jid: text,
    class: text,
    queue: text,
    state: text,
    error: { class: text, message: text, stack: [text] },
  };
  const body = JSON.stringify({
    ...ended,
    result: text,
    endedAt: text,
    attempt: text,
    worker: text,
    lastLine: text,
    log: [text, 1],
    payload: hostile,
  });
  await keepRecord(store, { jid: text, ttlMs: 60_000, body });
  await keepRecord(store, { jid: "ended", ttlMs: 60_000, body });
  await fail(store, "f1", { ...hostile, queue: "default" });
  const crontab = new Crontab({ store, client: new Client({ store }) });
  await crontab.add({
    name: text.replace(/[\u2028]/g, ""),
    class: text,
    rule: "0 3 * * *",
    timezone: "UTC",
    memo: text,
  })
    .catch(() =>
      crontab.add({ name: "plain", class: text, args: [text], rule: "0 3 * * *", timezone: "UTC", memo: text })
    );
  await recordEvent(store, {
    user: text,
    by: text,
    from: text,
    action: text,
    target: text,
    outcome: text,
    details: text,
    count: 1e300,
  });
  return (await crontab.page()).entries[0]!.name;
}
