/**
 * Permissions by effect: each way in, with each role and scope, to each effect. A role that may not cause an effect causes it in no way.
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { Client } from "../../src/client/client.ts";
import { Crontab } from "../../src/client/crontab.ts";
import { systemClock } from "../../src/clock.ts";
import { defaultSettings, type Settings } from "../../src/config/settings.ts";
import { Gateway } from "../../src/remote/gateway.ts";
import { newToken } from "../../src/web/auth/accounts.ts";
import type { Store } from "../../src/store/admin/store.ts";
import { ACTIONS } from "../../src/operator/actions/table.ts";
import { type Answer, openSite, type Site } from "./site.ts";
import { REGISTRATION } from "./work_server.ts";

type Way =
  | ("push" | "list" | "push again")
  | ("success" | "complete" | "death" | "abandoned" | "node" | "flow callback")
  | ("cron add" | "cron edit" | "cron list")
  | ("child" | "member");

/** The permissions of a role, stated apart from the code. */
interface Role {
  readonly line: string;
  readonly ways: readonly Way[];
  /** Absent: all. */
  readonly classes?: readonly string[];
  readonly queues?: readonly string[];
  readonly replaces?: false;
  /** Whether it may name the lock of any job. */
  readonly locks?: true;
  /** Whether it performs jobs, and the keys that its jobs may wait for; absent: all. */
  readonly performs?: true;
  readonly waits?: readonly string[];
}

const PUSHES: readonly Way[] = ["push", "list"];
const BATCHES: readonly Way[] = ["success", "complete", "death", "abandoned"];
const FLOWS: readonly Way[] = ["node", "flow callback"];
const CRON: readonly Way[] = ["cron add", "cron edit", "cron list"];
const WORKS: readonly Way[] = ["child", "member"];

const ROLES: Readonly<Record<string, Role>> = {
  operator: {
    line: "operator",
    ways: [...PUSHES, "push again", ...BATCHES, ...FLOWS, ...CRON, ...WORKS],
    locks: true,
    performs: true,
  },
  gentle: { line: "operator(delete=no)", ways: [...PUSHES, ...BATCHES, ...FLOWS, ...CRON], replaces: false },
  mails: { line: "operator(queue=mail)", ways: [...PUSHES, "push again"], queues: ["mail"] },
  pusher: { line: "push", ways: [...PUSHES, ...BATCHES], locks: true },
  "push-class": { line: "push(class=Mail)", ways: PUSHES, classes: ["Mail"] },
  "push-queue": { line: "push(queue=mail)", ways: PUSHES, queues: ["mail"] },
  worker: { line: "work", ways: [...PUSHES, ...BATCHES, ...WORKS], locks: true, performs: true },
  "work-class": {
    line: "work(class=Mail)",
    ways: [...PUSHES, ...WORKS],
    classes: ["Mail"],
    performs: true,
    waits: ["work-class:1"],
  },
  "work-queue": {
    line: "work(queue=mail,key=order:*)",
    ways: [...PUSHES, ...WORKS],
    queues: ["mail"],
    performs: true,
    waits: ["work-queue:1", "order:77"],
  },
  reader: { line: "reader", ways: [] },
  signal: { line: "signal(key=order:*)", ways: [] },
};

interface Effect {
  readonly job: Readonly<Record<string, unknown>>;
  readonly class?: string;
  readonly replaces?: true;
  readonly locks?: true;
  /** For no role. */
  readonly internal?: true;
  /** Whether a cron entry may have these options. */
  readonly cron?: true;
}

const LOCK = "L".repeat(43);
const UNIQUE = { unique_for: "1h" };

const EFFECTS: Readonly<Record<string, Effect>> = {
  "a job of its class and queue": { job: {}, cron: true },
  "another class": { job: { class: "Other" }, cron: true },
  "another queue": { job: { queue: "other" }, cron: true },
  "another queue for retries": { job: { retry_queue: "other" }, cron: true },
  "another class within a wrapper": { job: { wrapped: "Other" } },
  "another class within ActiveJob": {
    job: { class: "Sidekiq::ActiveJob::Wrapper", args: [{ job_class: "Other" }] },
    class: "Sidekiq::ActiveJob::Wrapper",
  },
  "another class by the options of its class": { job: { class: "Wrapping" }, class: "Other" },
  "in place of a duplicate": { job: { ...UNIQUE, on_duplicate: "replace" }, replaces: true },
  "in place of a duplicate, by the options of its class": {
    job: { class: "Replacing" },
    class: "Replacing",
    replaces: true,
  },
  "a debounced job": { job: { debounce: "1h" }, replaces: true },
  "a debounced job, by the options of its class": { job: { class: "Debounced" }, class: "Debounced", replaces: true },
  "with the lock of another job": { job: { ...UNIQUE, unique_key: LOCK }, locks: true },
  "in place of another job, by its lock": {
    job: { ...UNIQUE, unique_key: LOCK, on_duplicate: "replace" },
    locks: true,
    replaces: true,
  },
  "a notice": { job: { class: "webhook:ops" }, internal: true, cron: true },
  "a notice within a wrapper": { job: { wrapped: "webhook:ops" }, internal: true },
  "a notice within ActiveJob": {
    job: { class: "Sidekiq::ActiveJob::Wrapper", args: [{ job_class: "webhook:ops" }] },
    internal: true,
  },
  "a job shown as a notice": { job: { display_class: "webhook:ops" }, internal: true, cron: true },
};

/** Returns whether a role may cause an effect in a way. */
function may({ ways, classes, queues, replaces, locks }: Role, way: Way, effect: Effect): boolean {
  const job = { class: "Mail", queue: "mail", ...effect.job };
  const named = [effect.class ?? job.class, job.class, ...("wrapped" in job ? [job.wrapped as string] : [])];
  const into = [job.queue, ...("retry_queue" in job ? [job.retry_queue as string] : [])];
  return ways.includes(way) && effect.internal === undefined &&
    named.every((name) => classes?.includes(name) ?? true) && into.every((name) => queues?.includes(name) ?? true) &&
    !(replaces === false && effect.replaces) && (locks || !effect.locks);
}

const TOKENS = Object.fromEntries(Object.keys(ROLES).map((name) => [name, newToken()]));

class Lab implements AsyncDisposable {
  readonly store: Store;
  readonly #site: Site;
  readonly #gateway: Gateway;
  #count = 0;
  /** The jobs of workers, by role. */
  readonly #given = new Map<string, { readonly worker: string; readonly token: string }>();
  #call = 0;

  constructor(site: Site, gateway: Gateway) {
    this.store = site.store;
    this.#site = site;
    this.#gateway = gateway;
  }

  static async open(): Promise<Lab> {
    const opened = Promise.withResolvers<Gateway>();
    const site = await openSite("sqlite", {
      users: Object.entries(ROLES).map(([name, { line }]) => `${name}:${line}:${TOKENS[name]!.secret}`),
      tokenRate: 0,
      gateway: () => opened.promise,
    });
    const { store } = site;
    const settings = { ...defaultSettings(), heartbeatTimeoutMs: 600_000 } as Settings;
    const gateway = new Gateway({ store, clock: systemClock, settings });
    opened.resolve(gateway);
    const declare = {
      Replacing: { ...UNIQUE, on_duplicate: "replace" },
      Debounced: { debounce: "1h" },
      Wrapping: { wrapped: "Other" },
    };
    await store.classes.declare(
      Object.entries(declare).map(([name, options]) => ({
        name,
        options: JSON.stringify({ ...options, queue: "mail" }),
      })),
    );
    await store.webhooks.declare([{ name: "ops", on: ["dead"] }]);
    const client = new Client({ store, onUnregistered: () => {} });
    await client.pushBulk("Old", [[1]], { queue: "other" });
    await client.pushBulk("Old", [[1]], { queue: "mail" });
    return new Lab(site, gateway);
  }

  /** Sends a request to the API. */
  async send(
    role: string,
    path: string,
    body: unknown,
  ): Promise<{ readonly status: number; readonly value: Answer & Record<string, unknown> }> {
    const { status, value } = await this.#site.visitor().api("POST", path, body, {
      authorization: `Bearer ${TOKENS[role]!.token}`,
    });
    return { status, value };
  }

  /** Registers a worker, and takes a job that is in a batch. */
  async work(role: string): Promise<{ readonly worker: string; readonly token: string }> {
    const known = this.#given.get(role);
    if (known !== undefined) return known;
    const client = new Client({ store: this.store, onUnregistered: () => {} });
    const nonce = `${Object.keys(ROLES).indexOf(role)}`.padStart(12, "0");
    // Each role has a queue with its job alone, if it may choose one.
    const queue = ROLES[role]!.queues?.[0] ?? `of-${role}`;
    const performed = ROLES[role]!.classes?.[0] ?? `Of ${role}`;
    await client.batch({ name: role }, (add) => add(performed, [role], { queue, jid: `job-of-${role}` }));
    const classes = { [performed]: { queue } };
    const registered = await this.send(role, "/work/register", { ...REGISTRATION, nonce, classes, queues: [queue] });
    assertEquals(registered.status, 200, JSON.stringify(registered.value));
    const worker = registered.value["worker"] as string;
    for (let take = 1;; take++) {
      const { value } = await this.send(role, "/work/take", { worker, take, limit: 1, wait: 30 });
      const [job] = value["jobs"] as { readonly token: string; readonly jid: string }[];
      assert(job, `no job for ${role}: ${JSON.stringify(value)}`);
      if (job.jid === `job-of-${role}`) {
        const given = { worker, token: job.token };
        this.#given.set(role, given);
        return given;
      }
    }
  }

  /** Causes an effect in a way. Returns the status of the answer; 422 for a step that fails. */
  async cause(role: string, way: Way, effect: Effect): Promise<number> {
    const n = ++this.#count;
    const args = [n];
    const lock = effect.locks && { unique_key: `${n}`.padStart(LOCK.length, "0") };
    const job = { class: "Mail", queue: "mail", args, ...effect.job, ...lock };
    const harmless = { class: "Mail", args: [n], queue: "mail" };
    const entry = (name: string) => ({ every: "1d", name, ...job });
    switch (way) {
      case "push":
        return (await this.send(role, "/jobs", job)).status;
      case "list": {
        const { status, value } = await this.send(role, "/jobs", [job]);
        const results = value["results"] as { readonly jid?: string; readonly refused?: string }[] | undefined;
        return results?.[0]?.refused === undefined ? status : 422;
      }
      case "push again": {
        const { class: name, queue, args: given } = job;
        await new Client({ store: this.store, onUnregistered: () => {} }).push({
          ...harmless,
          jid: `again-${n}`,
          in: "1d",
        });
        return (await this.send(role, `/jobs/again-${n}/push-again`, { class: name, queue, args: given })).status;
      }
      case "node":
        return (await this.send(role, "/flows", { name: `f${n}`, nodes: { a: job } })).status;
      case "flow callback":
        return (await this.send(role, "/flows", { name: `f${n}`, nodes: { a: harmless }, success: job })).status;
      case "cron add":
        return (await this.send(role, "/cron", entry(`c${n}`))).status;
      case "cron list":
        return (await this.send(role, "/cron-bulk/add", { entries: [entry(`c${n}`)] })).status;
      case "cron edit": {
        const client = new Client({ store: this.store, onUnregistered: () => {} });
        await new Crontab({ store: this.store, client }).add({ name: `e${n}`, every: "1d", ...harmless });
        const { args: given, ...more } = job;
        return (await this.send(role, `/cron/e${n}/edit`, { ...more, args: given })).status;
      }
      case "child":
      case "member": {
        if (ROLES[role]!.performs === undefined) {
          return (await this.send(role, "/work/register", REGISTRATION)).status;
        }
        const { worker, token } = await this.work(role);
        const { class: name, args: given, ...options } = job;
        const step = { kind: way, name: `step ${n}`, class: name, args: given, options };
        const { status, value } = await this.send(role, "/work/step", { worker, token, call: ++this.#call, ...step });
        return value["failed"] === undefined ? status : 422;
      }
      default:
        return (await this.send(role, "/batches", { name: `b${n}`, [way]: job })).status;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#gateway[Symbol.asyncDispose]();
    await this.#site[Symbol.asyncDispose]();
  }
}

/** Effects of options that a way doesn't have. */
function applies(way: Way, { job, cron, internal, replaces, locks }: Effect): boolean {
  if (way.startsWith("cron")) return cron === true;
  // Its options are those of the original.
  if (way === "push again") return Object.keys(job).every((field) => ["class", "queue"].includes(field)) && !replaces;
  // A child is pushed once anyway, and a wait for it would hold the worker's job: only what is refused is tried.
  if (way === "child") return internal === true || !replaces && !locks;
  return true;
}

const WAYS: readonly Way[] = [...PUSHES, "push again", ...BATCHES, ...FLOWS, ...CRON, ...WORKS];

Deno.test("each way in refuses to each role the pushes that the role may not cause", async () => {
  await using lab = await Lab.open();
  const wrong: string[] = [];
  const counts = { allowed: 0, refused: 0 };
  for (const way of WAYS) {
    for (const [title, effect] of Object.entries(EFFECTS)) {
      if (!applies(way, effect)) continue;
      for (const [name, role] of Object.entries(ROLES)) {
        const expected = may(role, way, effect);
        // The job of the worker would wait for the child.
        if (way === "child" && expected) continue;
        // A role without a way is refused before anything is read.
        if (!role.ways.includes(way) && effect !== EFFECTS["another class"] && !effect.internal) continue;
        const status = await lab.cause(name, way, effect);
        // Flows and batches have no jobs with keys: they refuse them to all roles.
        const isKeyed = FLOWS.includes(way) || BATCHES.includes(way) || way === "member";
        const isRight = expected
          ? status >= 200 && status < 300 || isKeyed && (effect.replaces || effect.locks) && status === 422
          : status === 403 || (effect.internal || way === "list") && status === 422;
        if (!isRight) wrong.push(`${role.line}: ${way}: ${title}: ${status}, expected ${expected ? "2xx" : "403"}`);
        counts[expected ? "allowed" : "refused"]++;
      }
    }
  }
  assertEquals(wrong, []);
  assert(counts.allowed > 200 && counts.refused > 600, JSON.stringify(counts));
});

Deno.test("a role without delete deletes nothing, by any action that could, and performs no jobs", async () => {
  await using lab = await Lab.open();
  const { store } = lab;
  const client = new Client({ store, onUnregistered: () => {} });
  await client.push("Mail", [1], { jid: "j1", queue: "mail", in: "1d" });
  await new Crontab({ store, client }).add({ name: "nightly", every: "1d", class: "Mail" });
  const batch = await client.batch({ name: "b" }, (add) => add("Mail", [1], { queue: "mail", in: "1d" }));
  const flow = await client.flow("f", { a: { job: ["Mail", [1], { queue: "mail", in: "1d" }] } });
  const { ref } = (await store.jobs.find(["j1"]))[0]!;
  const inputs: Readonly<Record<string, readonly object[]>> = {
    "/actions": ["delete", "cancel"].flatMap((action) => [
      { action, jids: ["j1"] },
      { action, refs: [ref] },
      { action, all: { in: "scheduled" } },
    ]),
    "/cron": [{ name: "a", every: "1d", class: "Mail", overlap: "replace" }],
    "/cron/nightly/edit": [{ overlap: "replace" }],
    "/cron-bulk/add": [{ entries: [{ name: "a", every: "1d", class: "Mail", overlap: "replace" }] }],
    "/cron-bulk/remove": [{ prefix: "n", confirm: true }],
    "/jobs/j1/steps/rerun": [{ name: "s" }],
    "/queues/mail/clear": [{}, { group: "g" }],
  };
  const filled = (path: string) =>
    path.replace("{jid}", "j1").replace("/cron/{name}", "/cron/nightly").replace("/queues/{name}", "/queues/mail")
      .replace("/batches/{id}", `/batches/${batch.id}`).replace("/flows/{id}", `/flows/${flow.id}`);
  let tried = 0;
  for (const { path, deletes } of ACTIONS.filter((one) => one.deletes !== undefined)) {
    const address = filled(path);
    for (const input of inputs[address] ?? [{}]) {
      const named = { name: "nightly", jid: "j1", id: "x", ...input };
      if (!deletes!(named as never)) continue;
      const { status, value } = await lab.send("gentle", address, input);
      assertEquals([status, (value["error"] as { message: string }).message.slice(0, 38)], [
        403,
        "Your role deletes nothing (delete=no):",
      ], `${address} ${JSON.stringify(input)}`);
      tried++;
    }
  }
  assert(tried >= 18, `${tried} tried`);
  for (const verb of ["register", "take", "settle", "heartbeat", "step", "stream", "deregister"]) {
    for (const role of ["gentle", "mails"]) {
      const { status, value } = await lab.send(role, `/work/${verb}`, {});
      assertEquals(status, 403, verb);
      assertMatch(
        (value["error"] as { message: string }).message,
        /^Your role \(operator, with limits\) performs no jobs/,
      );
    }
  }
  assertEquals(await store.workers.list(), []);
});

Deno.test("a job of a worker with limits waits for signals of its scope alone", async () => {
  await using lab = await Lab.open();
  const client = new Client({ store: lab.store });
  const keys = ["order:77", "work-class:1", "work-queue:1", "work-class", "worker:1", "job-of-work-class", "x"];
  for (const key of keys) await client.signal(key, { secret: key });
  for (const [name, { performs, waits }] of Object.entries(ROLES)) {
    if (!performs || waits === undefined) continue;
    const { worker, token } = await lab.work(name);
    for (const [i, key] of keys.entries()) {
      const step = { kind: "wait", name: `wait ${key}`, options: { key, timeout: "1d" } };
      const { status, value } = await lab.send(name, "/work/step", { worker, token, call: i + 1, ...step });
      if (waits.includes(key)) {
        assertEquals([status, value["done"]], [200, { value: { secret: key } }], `${name} ${key}`);
      } else {
        const { message, field } = value["error"] as { readonly message: string; readonly field: string };
        assertEquals([status, field], [403, "options.key"], `${name} ${key}`);
        assert(message.startsWith(`Signal "${key}" is outside of your role; expected `), message);
      }
    }
  }
  // The others are kept for those that they are meant for.
  const { worker, token } = await lab.work("worker");
  for (const [i, key] of ["work-class", "x", "worker:1"].entries()) {
    const step = { kind: "wait", name: `wait ${key}`, options: { key, timeout: "1d" } };
    const { value } = await lab.send("worker", "/work/step", { worker, token, call: i + 1, ...step });
    assertEquals(value["done"], { value: { secret: key } });
  }
});

Deno.test("a job of a worker with limits reads the results that its flow gives to it, and no others", async () => {
  await using lab = await Lab.open();
  const client = new Client({ store: lab.store, onUnregistered: () => {} });
  await client.flow("pay", {
    x: { job: ["Salaries", [], { queue: "pay" }] },
    a: { job: ["Salaries", [], { queue: "pay" }], after: "x" },
    ...Object.fromEntries(
      ["worker", "work-class"].map((
        name,
      ) => [name, { job: ["Mail", [], { queue: `to-${name}` }] as const, after: "a" }]),
    ),
  } as never);
  const worker = async (role: string, nonce: string, className: string, queue: string) => {
    const registration = { ...REGISTRATION, nonce, classes: { [className]: {} }, queues: [queue] };
    const id = (await lab.send(role, "/work/register", registration)).value["worker"] as string;
    const take = async (take: number) => {
      const { value } = await lab.send(role, "/work/take", { worker: id, take, limit: 1, wait: 30 });
      return (value["jobs"] as { readonly token: string }[])[0]!.token;
    };
    return { id, take };
  };
  const payer = await worker("worker", "0000000000a1", "Salaries", "pay");
  for (const [take, result] of [[1, "all salaries"], [2, "one"]] as const) {
    const outcomes = [{ token: await payer.take(take), end: "succeeded", result }];
    await lab.send("worker", "/work/settle", { worker: payer.id, outcomes });
  }
  for (const [role, nonce, all] of [["worker", "0000000000a2", true], ["work-class", "0000000000a3", false]] as const) {
    const { id, take } = await worker(role, nonce, "Mail", `to-${role}`);
    const token = await take(1);
    let call = 0;
    const read = async (nodes?: readonly string[]) => {
      const step = { worker: id, token, call: ++call, kind: "results", ...(nodes && { nodes }) };
      return (await lab.send(role, "/work/step", step)).value;
    };
    assertEquals((await read())["done"], { value: { a: "one" } });
    assertEquals((await read(["a"]))["done"], { value: { a: "one" } });
    const { done, failed } = await read(["a", "x"]) as { done?: unknown; failed?: { message: string } };
    assertEquals(done, all ? { value: { a: "one", x: "all salaries" } } : undefined);
    const refusal = 'Results of node "x" are outside of your role; expected the nodes directly before this one: a';
    assertEquals(failed?.message, all ? undefined : refusal);
  }
});

Deno.test("the options of a class reach nothing outside of the scope of the role that registers it", async () => {
  await using lab = await Lab.open();
  const options: readonly (readonly [options: object, by: readonly string[]])[] = [
    // No role sets the fields that only jobs writes, the lock of one job, or an internal class.
    ...[
      { parent: { jid: "j1", step: "s" } },
      { callback_of: "b1" },
      { flow_node: "n" },
      { has_steps: true },
      { retry_count: 3 },
      { ...UNIQUE, unique_key: LOCK },
      { wrapped: "webhook:ops" },
      { display_class: "webhook:ops" },
    ].map((one): readonly [object, readonly string[]] => [one, []]),
    [{ wrapped: "Other" }, ["worker", "work-queue"]],
    [{ display_class: "Other" }, ["worker", "work-queue"]],
    [{ retry_queue: "elsewhere" }, ["worker", "work-class"]],
  ];
  let nonce = 100;
  for (const name of ["worker", "work-class", "work-queue"]) {
    for (const [one, by] of options) {
      const registration = { ...REGISTRATION, nonce: `${nonce++}`.padStart(12, "0") };
      const className = ROLES[name]!.classes?.[0] ?? `New ${nonce}`;
      const classes = { [className]: { queue: "mail", ...one } };
      const { status, value } = await lab.send(name, "/work/register", { ...registration, classes });
      assertEquals(status === 200, by.includes(name), `${name} ${JSON.stringify(one)}: ${JSON.stringify(value)}`);
    }
    for (const className of ["webhook:ops", "webhook:"]) {
      const { status } = await lab.send(name, "/work/register", {
        ...REGISTRATION,
        classes: { [className]: { queue: "mail" } },
      });
      assert(status === 403 || status === 422, `${name} registers ${className}: ${status}`);
    }
  }
});
