/** Tokens of the role `work` that are limited to classes or queues. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { Client } from "../../src/client/client.ts";
import type { Store } from "../../src/store/admin/store.ts";
import { newToken } from "../../src/web/auth/accounts.ts";
import { until } from "../support/eventually.ts";
import { onBothStores, workerRecord } from "./site.ts";
import { type Answer, REGISTRATION, WorkServer } from "./work_server.ts";

const { token, secret } = newToken();

class Limited implements AsyncDisposable {
  readonly #server: WorkServer;

  constructor(store: Store, scope: string) {
    this.#server = new WorkServer(store, { users: [`w:work(${scope}):${secret}`] });
  }

  async send(verb: string, body: object): Promise<Answer> {
    return await this.#server.send(verb, body, undefined, token);
  }

  /** Sends a registration. */
  async register(classes: object, queues?: readonly string[]): Promise<Answer> {
    return await this.send("register", { ...REGISTRATION, classes, ...(queues && { queues }) });
  }

  /** Returns the message of a refused registration, and its field. */
  async refused(classes: object, queues?: readonly string[]): Promise<[string, string]> {
    const { error } = await this.register(classes, queues);
    assertEquals(error?.code, "forbidden", JSON.stringify(error));
    assert(!error.message.includes("\n"), error.message);
    return [error.message, error.field];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]();
  }
}

onBothStores("a worker with a token of another role is refused with the role that it needs", async ({ store }) => {
  for (const role of ["push", "reader", "signal"]) {
    await using server = new WorkServer(store, { users: [`w:${role}:${secret}`] });
    const { error } = await server.send("register", REGISTRATION, undefined, token);
    assertEquals(error?.code, "forbidden");
    assertMatch(
      error.message,
      new RegExp(
        `^Your role \\(${role}\\) .*; a worker needs a token of the role work: jobs web --new-token NAME --role work$`,
      ),
    );
  }
});

const DEFAULT = 'Queue "default" is outside of your role; expected reports, low';
const OTHER = 'Queue "mail" is outside of your role; expected reports, low';

onBothStores("a role that is limited to queues registers no other queue", async ({ store }) => {
  await using limited = new Limited(store, "queue=reports|low");
  const report = { Report: { queue: "reports" } };
  assertEquals(await limited.refused({ Report: {} }), [DEFAULT, "classes"]);
  assertEquals(await limited.refused({ ...report, Mail: { queue: "mail" } }), [OTHER, "classes"]);
  assertEquals(await limited.refused(report, ["reports", "mail"]), [OTHER, "queues"]);
  assertEquals(await limited.refused({ Report: {} }, []), [DEFAULT, "classes"]);
  // A push or a failure of its classes would go there.
  assertEquals(await limited.refused({ Report: { queue: "mail" } }, ["reports"]), [OTHER, "classes"]);
  const retried = { Report: { queue: "reports", retry_queue: "mail" } };
  assertEquals(await limited.refused(retried), [OTHER, "classes"]);
  // A push without a queue would go to "default", with the options of the class.
  assertEquals(await limited.refused({ Report: {} }, ["reports"]), [DEFAULT, "classes"]);
  assertEquals(await store.workers.list(), []);
  assert((await limited.register({ Report: { queue: "reports" } }, ["reports"])).worker);
});

onBothStores(
  "a role that is limited to queues doesn't change the options of classes of other queues",
  async ({ store }) => {
    const declared = [
      { name: "Invoice", options: '{"queue":"billing","retry":5}' },
      { name: "Mail", options: "{}" },
      { name: "Report", options: '{"queue":"low"}' },
    ];
    await store.classes.declare(declared);
    const optionsOf = async (name: string) => (await store.classes.read([name]))[0]?.options;
    await using limited = new Limited(store, "queue=reports|low");
    const refusal = (name: string, queue: string) =>
      `Class "${name}" is registered for queue "${queue}", which is outside of your role; expected reports, low, ` +
      `or a role that lists the class: work(class=${name},queue=reports|low)`;
    const taken = { queue: "reports", expires_in: 1 };
    assertEquals(await limited.refused({ Report: taken, Invoice: taken }), [refusal("Invoice", "billing"), "classes"]);
    assertEquals(await limited.refused({ Mail: taken }), [refusal("Mail", "default"), "classes"]);
    const report = { queue: "reports", retry: 2 };
    const { worker } = await limited.register({ Report: report, Invited: { queue: "low" } });
    await until(async () => await optionsOf("Report") === JSON.stringify(report));
    assertEquals(await optionsOf("Invoice"), declared[0]!.options);
    await limited.send("deregister", { worker });
    await until(async () => (await store.workers.list()).length === 0);

    // Another worker registers the class for another queue. The program continues its jobs.
    const billed = { name: "Report", options: '{"queue":"billing"}' };
    await store.classes.declare([billed]);
    const classes = { Report: report, Later: { queue: "low" } };
    const again = await limited.send("register", { ...REGISTRATION, classes, registration: 2, running: [] });
    assert(again.worker, JSON.stringify(again));
    await until(async () => await optionsOf("Later") !== undefined);
    assertEquals(await optionsOf("Report"), billed.options);
  },
);

onBothStores("a role that lists a class registers its options, whatever its queue", async ({ store }) => {
  await store.classes.declare([{ name: "Report", options: "{}" }]);
  await using limited = new Limited(store, "class=Report,queue=reports");
  assert((await limited.register({ Report: { retry: 2 } }, ["reports"])).worker);
  await until(async () => (await store.classes.read(["Report"]))[0]?.options === '{"retry":2}');
});

onBothStores("a role that is limited to queues takes jobs from these alone", async ({ store }) => {
  const client = new Client({ store, onUnregistered: () => {} });
  for (const queues of [undefined, [], ["low"]]) {
    await using limited = new Limited(store, "queue=reports|low");
    const { worker } = await limited.register({ Report: { queue: "low" } }, queues);
    const [{ queues: taken }] = await store.workers.list() as [Answer];
    assertEquals(taken, ["low"]);
    await client.push("Report", ["not this one"], { queue: "default" });
    await client.push("Report", ["nor this"], { queue: "reports" });
    await client.push("Report", ["this"], { queue: "low" });
    const { jobs } = await limited.send("take", { worker, take: 1, limit: 10, wait: 30 });
    assertEquals(jobs.map(({ queue }: Answer) => queue), ["low"]);
    await limited.send("settle", { worker, outcomes: [{ token: jobs[0].token, end: "succeeded" }] });
    await limited.send("deregister", { worker });
    await until(async () => (await store.workers.list()).length === 0);
  }
});

onBothStores("a role that is limited to classes performs and pushes no others", async ({ store }) => {
  await using limited = new Limited(store, "class=Report|Mail");
  assertEquals(await limited.refused({ Report: {}, Payout: {} }), [
    'Class "Payout" is outside of your role; expected Report, Mail',
    "classes",
  ]);
  const { worker } = await limited.register({ Report: {} });
  const client = new Client({ store, onUnregistered: () => {} });
  await client.push("Payout", [1]);
  await client.push("Report", [1]);
  const { jobs } = await limited.send("take", { worker, take: 1, limit: 10, wait: 30 });
  assertEquals(jobs.map((job: Answer) => job.class), ["Report"]);
  const child = { call: 1, kind: "child", name: "pay", class: "Payout", args: [] };
  const { error } = await limited.send("step", { worker, token: jobs[0].token, ...child });
  assertEquals([error?.code, error?.message], ["forbidden", "This token may push only Report, Mail"]);
});

onBothStores("a worker belongs to the user that registered it, until it ends", async ({ store }) => {
  const other = newToken();
  await using server = new WorkServer(store, { users: [`w:work:${secret}`, `x:work:${other.secret}`] });
  const send = (verb: string, body: object, by = token) => server.send(verb, body, undefined, by);
  const jid = await new Client({ store }).push({ class: "Try", args: [] });
  const { worker } = await send("register", { ...REGISTRATION, registration: 1 });
  const { jobs: [job] } = await send("take", { worker, take: 1, limit: 1, wait: 30 });
  assertEquals(job.jid, jid);
  for (const registration of [undefined, 1, 2]) {
    const { error } = await send("register", { ...REGISTRATION, registration }, other.token);
    assertEquals(error, {
      code: "forbidden",
      message: `Worker "${worker}" is another user's; expected the token that registered it, or another nonce`,
      field: "nonce",
    });
  }
  const outcomes = [{ token: job.token, end: "succeeded" }];
  assertEquals((await send("settle", { worker, outcomes }, other.token)).error?.code, "not_found");
  assertEquals(await send("settle", { worker, outcomes }), { lost: [] });
  await send("deregister", { worker });
  assertEquals((await send("register", { ...REGISTRATION, registration: 1 }, other.token)).worker, worker);
});

onBothStores("a worker belongs to its user at each server of the store", async ({ store }) => {
  const other = newToken();
  const users = [`w:work:${secret}`, `x:work:${other.secret}`];
  await using first = new WorkServer(store, { users });
  await using second = new WorkServer(store, { users });
  const send = (server: WorkServer, verb: string, body: object, by = token) => server.send(verb, body, undefined, by);
  const { worker } = await send(first, "register", REGISTRATION);
  const { error } = await send(second, "register", REGISTRATION, other.token);
  assertEquals(error, {
    code: "forbidden",
    message: `Worker "${worker}" is another user's; expected the token that registered it, or another nonce`,
    field: "nonce",
  });
  assertEquals((await store.workers.list()).map(({ id, owner }) => [id, owner]), [[worker, "w"]]);
  assertEquals((await send(second, "register", { ...REGISTRATION, running: [] })).worker, worker);
  await send(second, "deregister", { worker });
  // A gateway without users notes no owner.
  const { owner: _, ...record } = workerRecord(worker);
  await store.workers.heartbeat({ ...record, program: true }, 60_000);
  assertEquals((await send(second, "register", REGISTRATION, other.token)).worker, worker);
});

onBothStores("no program takes the place of a worker that isn't a program's, or its jobs", async ({ store }) => {
  const users = [`w:work:${secret}`, `x:work(class=Mail):${secret.replace(/.$/, "A")}`];
  const hostname = "box";
  const id = `${hostname}:${REGISTRATION.pid}:${REGISTRATION.nonce}`;
  await store.workers.heartbeat(workerRecord(id), 60_000);
  await new Client({ store, onUnregistered: () => {} }).push("Payout", [1], { queue: "money" });
  const [lease] = await store.jobs.take({ queues: ["money"], limit: 1, worker: id });
  for (const by of [{ users }, {}]) {
    await using server = new WorkServer(store, by);
    for (const more of [{}, { running: [] }, { registration: 1, taken: 0, running: [] }]) {
      const { error } = await server.send("register", { ...REGISTRATION, ...more }, undefined, token);
      assertEquals(error, {
        code: "forbidden",
        message: `Worker "${id}" isn't a worker of another program; expected another nonce`,
        field: "nonce",
      });
    }
  }
  assertEquals(await store.jobs.stillLeased(id), [lease!.token]);
});

onBothStores("the roles push and work don't learn which worker ran a job", async ({ store }) => {
  const [pusher, reader] = [newToken(), newToken()];
  const users = [`w:work:${secret}`, `p:push:${pusher.secret}`, `r:reader:${reader.secret}`];
  await using server = new WorkServer(store, { users });
  const jid = await new Client({ store }).push({ class: "Try", args: [] });
  const { worker } = await server.send("register", REGISTRATION, undefined, token);
  const { jobs: [job] } = await server.send("take", { worker, take: 1, limit: 1, wait: 30 }, undefined, token);
  await server.send("settle", { worker, outcomes: [{ token: job.token, end: "succeeded" }] }, undefined, token);
  const resultFor = (by: string) => server.get(`/jobs/${jid}/result?wait=30s`, by);
  assertEquals((await resultFor(reader.token)).finished.worker, worker);
  for (const by of [token, pusher.token]) {
    const answer = await resultFor(by);
    assertEquals([answer.finished.state, JSON.stringify(answer).includes(worker)], ["succeeded", false]);
  }
});

onBothStores(
  "a token takes no more than its share of the workers of a server, however many register at once",
  async ({ store }) => {
    const other = newToken();
    const users = [`w:work:${secret}`, `x:work:${other.secret}`];
    await using server = new WorkServer(store, { users, maxWorkersOfUser: 2 });
    const register = (i: number, by = token) =>
      server.send("register", { ...REGISTRATION, nonce: `${i}`.padStart(12, "0") }, undefined, by);
    const answers = await Promise.all([1, 2, 3, 4].map((i) => register(i)));
    assertEquals(answers.map(({ worker }) => worker !== undefined), [true, true, false, false]);
    const error = {
      code: "unavailable",
      message: 'User "w" has 2 workers at this server; use another server, or another token for some of them',
    };
    assertEquals([answers[2].error, (await register(5)).error], [error, error]);
    // One that registers again has its place; so have other users.
    assert((await register(2)).worker);
    assert((await register(6, other.token)).worker);
    await server.send("deregister", { worker: answers[0].worker }, undefined, token);
    assert((await register(7)).worker);
  },
);

onBothStores("texts that a worker shows have no characters that hide or reorder others", async ({ store }) => {
  await using server = new WorkServer(store);
  for (
    const [i, bad] of ["a\u202eb", "a\u200bb", "a\u2066b", "a\u2028b", "a\u00adb", "a\ufeffb", "a\ue000b"].entries()
  ) {
    for (const [field, value] of [["runtime", bad], ["client", bad], ["hostname", bad], ["labels", [bad]]] as const) {
      const { error } = await server.send("register", { ...REGISTRATION, [field]: value });
      assertEquals([error?.code, error?.field], ["invalid", field === "labels" ? "labels[0]" : field], `${i} ${field}`);
    }
  }
  const plain = { runtime: "Jython 3.11 (größer, 東京)", hostname: "größer-東京", labels: ["blue green", "🙂"] };
  assert((await server.send("register", { ...REGISTRATION, ...plain })).worker);
});

onBothStores("a request has at most 1,000 chunks of a stream", async ({ store }) => {
  await using server = new WorkServer(store);
  const { worker } = await server.send("register", REGISTRATION);
  await new Client({ store }).push({ class: "Try", args: [] });
  const { jobs: [{ token }] } = await server.send("take", { worker, take: 1, limit: 1, wait: 30 });
  const send = (count: number) => server.send("stream", { worker, token, from: 0, chunks: Array(count).fill("x") });
  assertEquals((await send(1_001)).error, {
    code: "too_large",
    message: "Too many chunks; expected at most 1000 in a request",
    field: "chunks",
  });
  assertEquals(await send(1_000), {});
  await server.send("settle", { worker, outcomes: [{ token, end: "succeeded" }] });
});

onBothStores(
  "a token limited to classes makes one queue for an unregistered class, and no more",
  async ({ store }) => {
    await using limited = new Limited(store, "class=Report|Mail");
    const optionsOf = async (name: string) => (await store.classes.read([name]))[0]?.options;
    const { worker } = await limited.register({ Report: { queue: "q1" } });
    await until(async () => await optionsOf("Report") === '{"queue":"q1"}');
    for (const [options, queue] of [[{ queue: "q2" }, "q2"], [{ queue: "q1", retry_queue: "q3" }, "q3"]] as const) {
      for (const more of [{}, { running: [], registration: 9 }]) {
        const { error } = await limited.send("register", { ...REGISTRATION, ...more, classes: { Report: options } });
        assertEquals([error?.code, error?.field], ["forbidden", "classes"], queue);
        assertMatch(
          error.message,
          new RegExp(
            `^Queue "${queue}" of class "Report" doesn't exist; expected .*work\\(class=Report,queue=${queue}\\)$`,
          ),
        );
      }
    }
    await new Client({ store, onUnregistered: () => {} }).push("Other", [], { queue: "q2" });
    await limited.send("deregister", { worker });
    assert((await limited.register({ Report: { queue: "q2" }, Mail: { queue: "q1" } })).worker);
  },
);
