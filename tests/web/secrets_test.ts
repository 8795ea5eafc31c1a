/** Secrets in any field that is shown: no page and no route of the API shows one. */
import { assert, assertEquals } from "@std/assert";
import { Client } from "../../src/client/client.ts";
import { Crontab } from "../../src/client/crontab.ts";
import { keepRecord } from "../support/records.ts";
import { bury, fail, onBothStores, PAGES, push, type Site, workerRecord } from "./site.ts";

/** One secret per field, so that a leak names its field. */
class Secrets {
  readonly #texts = new Map<string, string>();

  /** Returns a text with a secret that stands for a field. */
  in(field: string): string {
    const secret = `whsec_${field.padEnd(8, "0")}${"QUJD".repeat(6)}`;
    this.#texts.set(field, secret);
    return `POST failed: key ${secret}: refused`;
  }

  /** Returns the fields whose secrets a text has. */
  shownIn(text: string): string[] {
    return [...this.#texts].filter(([, secret]) => text.includes(secret)).map(([field]) => field);
  }

  get fields(): readonly string[] {
    return [...this.#texts.keys()];
  }
}

/** Fills the store with secrets. */
async function plant({ store }: Site, secrets: Secrets): Promise<void> {
  const client = new Client({ store, onUnregistered: () => {} });
  const failure = (name: string) => ({
    args: [secrets.in(`${name}Args`), { note: secrets.in(`${name}Nested`) }],
    error_message: secrets.in(`${name}Error`),
    error_causes: [`caused by Error: ${secrets.in(`${name}Cause`)}`],
    errors: [{ at: 1.7e9, attempt: 1, class: "Error", message: secrets.in(`${name}Past`) }],
    custom: secrets.in(`${name}Field`),
  });
  await push(store, "queued", { args: [secrets.in("queuedArgs")], custom: secrets.in("queuedField") });
  await push(store, "scheduled", { args: [secrets.in("scheduledArgs")] }, 3_600_000);
  await fail(store, "retrying", failure("retry"));
  await bury(store, "dead", failure("dead"));
  const payload = { class: "Hard", args: [secrets.in("endedArgs")], jid: "ended", queue: "default" };
  const ended = {
    ...{ jid: "ended", class: "Hard", queue: "default", state: "failed", endedAt: Date.now(), payload },
    error: { class: "Error", message: secrets.in("endedError"), backtrace: [secrets.in("endedStack")] },
    result: { note: secrets.in("endedResult") },
    log: [secrets.in("endedLog")],
    progress: JSON.stringify({ done: 1, note: secrets.in("endedProgress") }),
  };
  await keepRecord(store, { jid: "ended", ttlMs: 3_600_000, body: JSON.stringify(ended) });
  await push(store, "running", { args: [secrets.in("runningArgs")], queue: "busy" });
  const worker = "web1:7:0123456789ab";
  const work = [{
    ...{ task: "processor-1", queue: "busy", since: Date.now() },
    payload: JSON.stringify({ class: "Hard", args: [secrets.in("workArgs")], jid: "running", queue: "busy" }),
    ...{ lastLine: secrets.in("workLine"), log: [secrets.in("workLog")], progress: secrets.in("workProgress") },
  }];
  const circuit = { host: "a.example", state: "open", failures: 9, since: 1, error: secrets.in("circuit") } as const;
  const outbox = { waiting: 1, refused: 1, pushed: 1, error: secrets.in("outbox"), since: 1 };
  await store.workers.heartbeat(
    workerRecord(worker, { queues: ["busy"], busy: 1, work, circuits: [circuit], outbox, classes: ["Hard"] }),
    3_600_000,
  );
  const [lease] = await store.jobs.take({ queues: ["busy"], limit: 1, worker });
  const step = { worker, token: lease!.token, jid: "running" };
  const value = JSON.stringify({ note: secrets.in("stepValue") });
  const record = `{"state":"succeeded","since":1,"ended":2,"kind":"step","attempts":1,"value":${value}}`;
  await store.steps.remember(step, { name: "charge", record });
  await store.streams.append(step, {
    ...{
      run: 1,
      attempt: 1,
      from: 0,
      chunks: [JSON.stringify(secrets.in("chunk")), JSON.stringify({ a: secrets.in("chunkValue") })],
    },
  } as never);
  await new Crontab({ store, client }).add({
    ...{ name: "nightly", every: "1d", class: "Hard" },
    ...{ args: [secrets.in("cronArgs")], memo: secrets.in("cronMemo") },
  });
  await client.flow("graph", {
    a: { job: ["Hard", [secrets.in("nodeArgs")]] },
    b: { job: ["Hard", [secrets.in("waitingArgs")]], after: "a" },
  });
  await client.batch(
    { name: "all", success: { class: "Hard", args: [secrets.in("callbackArgs")] } },
    (add) => add("Hard", [1]),
  );
}

onBothStores("no page and no route shows a secret, whatever field has it", async (site) => {
  const secrets = new Secrets();
  await plant(site, secrets);
  assert(secrets.fields.length > 30);
  const { batches } = await site.store.batches.read({ limit: 10 } as never);
  const jobs = ["queued", "scheduled", "retrying", "dead", "ended", "running"];
  const paths = [
    ...PAGES.filter((path) => path !== "/events" && path !== "/jobs/x"),
    ...[
      "/retrying?by=error",
      "/dead?by=error",
      "/queues/busy",
      "/queued/default",
      "/cron/nightly",
      "/batches",
      "/flows",
    ],
    ...["/cron/nightly/edit", "/classes/Hard", "/search?q=Hard"],
    ...jobs.flatMap((
      jid,
    ) => [`/jobs/${jid}`, `/api/v1/jobs/${jid}`, `/api/v1/jobs/${jid}/steps`, `/api/v1/jobs/${jid}/result`]),
    "/api/v1/jobs/ended/stream",
    ...["queue:default", "scheduled", "retry", "dead", "running"].map((place) => `/api/v1/jobs?in=${place}`),
    ...[
      "finished",
      "queues",
      "workers",
      "classes",
      "signals",
      "batches",
      "flows",
      "cron",
      "cron/nightly",
      "stats",
      "settings",
      "operations",
    ]
      .map((name) => `/api/v1/${name}`),
    ...batches.flatMap(({ id, flow }) =>
      flow
        ? [`/flows/${id}`, `/api/v1/flows/${id}`, `/api/v1/flows/${id}/nodes`]
        : [`/batches/${id}`, `/api/v1/batches/${id}`]
    ),
  ];
  const leaks: string[] = [];
  let shown = "";
  for (const path of paths) {
    const { status, text } = await site.visitor().send(path);
    if (status >= 400 && !path.endsWith("/steps")) leaks.push(`${path}: ${status} ${text.slice(0, 100)}`);
    leaks.push(...secrets.shownIn(text).map((field) => `${path}: ${field}`));
    shown += text;
  }
  assertEquals(leaks, []);
  assert(shown.split("POST failed: key ••••••: refused").length > 50, "the texts around the secrets are shown");
});
