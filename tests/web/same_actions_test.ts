/** Each action through the command line, the API, the pages and the keys of `jobs top`: the same effect and the same audit entries. */
import { assert, assertEquals } from "@std/assert";
import { perform } from "../../src/cli/top/actions.ts";
import { Client } from "../../src/client/client.ts";
import { Crontab } from "../../src/client/crontab.ts";
import { readEvents } from "../../src/store/admin/audit.ts";
import type { Store } from "../../src/store/admin/store.ts";
import { jobs } from "../support/process.ts";
import { shareRedis } from "../support/shared_redis.ts";
import { bury, openSite, push, refsOf, workerRecord } from "./site.ts";

type Form = Record<string, string | readonly string[]>;
/** An ID or a ref that a case has made before its action. */
type Made = string;

interface Case {
  readonly make?: (store: Store) => Promise<Made | void>;
  readonly command: (made: Made) => readonly string[];
  readonly api: (made: Made) => readonly [path: string, body?: unknown];
  readonly page?: (made: Made) => readonly [path: string, form?: Form];
  readonly key?: (made: Made) => Parameters<typeof perform>[1];
}

const clientOf = (store: Store) => new Client({ store, onUnregistered: () => {} });
const queued = (store: Store) => push(store, "j1");
const dead = async (store: Store) => {
  for (const jid of ["j1", "j2"]) await bury(store, jid);
  return (await refsOf(store, "j1"))[0]!;
};
const queuedRef = async (store: Store) => {
  await queued(store);
  return (await refsOf(store, "j1"))[0]!;
};
const online = async (store: Store) => {
  await store.workers.heartbeat(workerRecord("web1:7:a"), 60_000);
};
const entry = async (store: Store) => {
  const crontab = new Crontab({ store, client: clientOf(store) });
  await crontab.add({ name: "nightly", class: "Hard", every: "1d" });
};
const batch = async (store: Store) => {
  const { id } = await clientOf(store).batch({ name: "import" }, (add) => add("Hard", [1]));
  return id;
};
const yes = { confirmed: "yes" };
const act = (how: string, from: string, form: Form): readonly [string, Form] => [
  "/jobs/act",
  { do: how, in: from, ...form, ...yes },
];

const CASES: Readonly<Record<string, Case>> = {
  "pauses a queue": {
    make: queued,
    command: () => ["pause", "default"],
    api: () => ["/queues/default/pause"],
    page: () => ["/queues/default/pause"],
    key: () => ({ do: "pause", queue: "default" }),
  },
  "resumes all queues": {
    make: (store) => store.admin.configure("*", { pause: true }).then(() => {}),
    command: () => ["resume"],
    api: () => ["/resume"],
    page: () => ["/queues/resume"],
    key: () => ({ do: "resume", queue: "*" }),
  },
  "pauses a group": {
    make: queued,
    command: () => ["pause", "default", "--group", "acme"],
    api: () => ["/queues/default/groups/pause", { group: "acme" }],
    page: () => ["/queues/default/groups/acme/pause"],
  },
  "limits a queue": {
    make: queued,
    command: () => ["limit", "default", "--running", "5", "--starts", "100/1m"],
    api: () => ["/queues/default/limit", { running: 5, starts: "100/1m" }],
    page: () => ["/queues/default/limit", { running: "5", starts: "100/1m" }],
  },
  "limits a group": {
    make: queued,
    command: () => ["limit", "default", "--group", "acme", "--running", "2", "--weight", "3", "--for", "1d"],
    api: () => ["/queues/default/groups/limit", { group: "acme", running: 2, weight: 3, for: "1d" }],
    page: () => ["/queues/default/groups/acme/limit", { running: "2", starts: "", weight: "3", for: "1d" }],
  },
  "clears a queue": {
    make: queued,
    command: () => ["clear", "default", "--yes"],
    api: () => ["/queues/default/clear"],
  },
  "quiets a worker": {
    make: online,
    command: () => ["quiet", "web1:7:a"],
    api: () => ["/workers/web1%3A7%3Aa/quiet"],
    page: () => ["/workers/web1%3A7%3Aa/quiet"],
    key: () => ({ do: "signal", verb: "quiet", workerId: "web1:7:a" }),
  },
  "stops all workers": {
    make: online,
    command: () => ["stop", "--all"],
    api: () => ["/workers/stop"],
    page: () => ["/workers/stop", yes],
  },
  "retries a job": {
    make: dead,
    command: () => ["retry", "j1"],
    api: () => ["/jobs/j1/retry"],
    page: (ref) => act("retry", "dead", { ref: [ref] }),
    key: (ref) => ({ do: "requeue", ref, jid: "j1" }),
  },
  "kills a job": {
    make: queuedRef,
    command: () => ["kill", "j1"],
    api: () => ["/jobs/j1/kill"],
    page: (ref) => act("kill", "queue:default", { ref: [ref] }),
    key: (ref) => ({ do: "kill", ref, jid: "j1" }),
  },
  "cancels a job": {
    make: queuedRef,
    command: () => ["cancel", "j1"],
    api: () => ["/jobs/j1/cancel"],
    page: (ref) => act("cancel", "queue:default", { ref: [ref] }),
    key: () => ({ do: "cancel", jid: "j1" }),
  },
  "deletes a job": {
    make: dead,
    command: () => ["delete", "j1"],
    api: () => ["/jobs/j1/delete"],
    page: (ref) => act("delete", "dead", { ref: [ref] }),
    key: (ref) => ({ do: "delete", ref, jid: "j1" }),
  },
  "moves a job": {
    make: dead,
    command: () => ["move", "j1", "--to", "low"],
    api: () => ["/jobs/j1/move", { queue: "low" }],
    page: (ref) => act("move", "dead", { ref: [ref], queue_to: "low" }),
  },
  "deletes all dead jobs of a class": {
    make: dead,
    command: () => ["delete", "--all", "dead", "--class", "Hard", "--yes"],
    api: () => ["/actions", { action: "delete", all: { in: "dead", class: "Hard" } }],
    page: () => act("delete", "dead", { scope: "all", class: "Hard" }),
  },
  "adds a cron entry": {
    command: () => ["cron", "add", "nightly", "Hard", "--every", "1d"],
    api: () => ["/cron", { name: "nightly", class: "Hard", every: "1d" }],
    page: () => ["/cron-new", { name: "nightly", class: "Hard", every: "1d", args: "" }],
  },
  "pauses a cron entry": {
    make: entry,
    command: () => ["cron", "pause", "nightly"],
    api: () => ["/cron/nightly/pause"],
    page: () => ["/cron/nightly/pause"],
  },
  "runs a cron entry": {
    make: entry,
    command: () => ["cron", "run", "nightly"],
    api: () => ["/cron/nightly/run"],
    page: () => ["/cron/nightly/run"],
  },
  "refuses to run an unknown cron entry": {
    command: () => ["cron", "run", "nothing"],
    api: () => ["/cron/nothing/run"],
    page: () => ["/cron/nothing/run"],
  },
  "removes a cron entry": {
    make: entry,
    command: () => ["cron", "remove", "nightly"],
    api: () => ["/cron/nightly/remove"],
    page: () => ["/cron/nightly/remove", yes],
  },
  "cancels a batch": {
    make: batch,
    command: (id) => ["batch", "cancel", id],
    api: (id) => [`/batches/${id}/cancel`],
    page: (id) => [`/batches/${id}/cancel`, yes],
  },
  "retries a batch": {
    make: batch,
    command: (id) => ["batch", "retry", id],
    api: (id) => [`/batches/${id}/retry`],
    page: (id) => [`/batches/${id}/retry`, yes],
  },
  "sends a signal": {
    command: () => ["signal", "order:7", "true"],
    api: () => ["/signals/order%3A7", { data: true }],
  },
};

function formOf([path, form = {}]: readonly [string, Form?]): [string, Form] {
  return [path, form];
}

/** Returns the effect on the store, without IDs and times. */
async function stateOf(store: Store) {
  const { queues, scheduled, dead } = await store.admin.stats();
  const { groups } = await store.admin.groups("default", {});
  const places = queues.map(({ name, size, paused, limit }) => [name, size, paused, limit?.running, limit?.starts]);
  const found = groups.map(({ name, paused, weight, limit }) => [name, paused, weight, limit?.running]);
  const { entries } = await new Crontab({ store, client: clientOf(store) }).page();
  const cron = entries.map(({ name, state }) => [name, state?.paused]);
  return { places, scheduled, dead, found, cron };
}

shareRedis();
for (const [name, { make, command, api, page, key }] of Object.entries(CASES)) {
  for (const kind of ["sqlite", "redis"] as const) {
    Deno.test(`${name}, with the same effect and entry on each surface (${kind})`, async () => {
      const seen: Record<string, unknown> = {};
      for (const surface of ["api", "command", "page", "key"] as const) {
        await using site = await openSite(kind);
        const { store, url } = site;
        const made = await make?.(store) ?? "";
        if (surface === "api") await site.visitor().api("POST", ...api(made));
        else if (surface === "command") await jobs([...command(made), "--store", url]);
        else if (surface === "page" && page !== undefined) await site.visitor().submit(...formOf(page(made)));
        else if (surface === "key" && key !== undefined) await perform(store, key(made));
        else continue;
        const events = (await readEvents(store)).events.map(({ at: _, user: _user, by: _by, from: _from, ...deed }) =>
          deed
        );
        assert(events.length > 0, surface);
        const text = JSON.stringify({ events, state: await stateOf(store) });
        seen[surface] = JSON.parse(text.replaceAll(/[0-9a-f]{24}/g, "ID"));
        assertEquals(seen[surface], seen["api"], surface);
      }
    });
  }
}
