/**
 * Incidents, staged with real workers. `jobs doctor`, `jobs show`, the overview and the metrics of an alert rule name the cause,
 * since when, and the command that helps.
 */
import { assertEquals, assertMatch } from "@std/assert";
import { every, systemClock } from "../../src/clock.ts";
import { Client, type JobRequest } from "../../src/client/client.ts";
import { Crontab } from "../../src/client/crontab.ts";
import { checkCrontab } from "../../src/cron/crontab.ts";
import { definitionText, stateText } from "../../src/cron/definition.ts";
import { plan } from "../../src/cron/plan.ts";
import { alertsOf } from "../../src/operator/alerts/alerts.ts";
import { readSituation } from "../../src/operator/alerts/situation.ts";
import { workerRecord } from "../store_contract/jobs.ts";
import { openStore } from "../../src/store/open.ts";
import type { Store } from "../../src/store/admin/store.ts";
import { createWeb } from "../../src/web/web.ts";
import { Bench } from "../support/bench.ts";
import { until } from "../support/eventually.ts";
import { jobs, JobsProcess, MORTAL } from "../support/process.ts";
import { sharedRedisUrl, shareRedis } from "../support/shared_redis.ts";
import { TcpProxy } from "../support/tcp_proxy.ts";
import { Visitor } from "../web/site.ts";
import { denoCommand } from "../../scripts/deno_command.ts";

interface Incident {
  readonly name: string;
  /** Default: both stores. */
  readonly on?: "sqlite" | "redis";
  /** Stages it. Returns the job that `jobs show` is called for, if there is one. */
  readonly stage: (lab: Lab) => Promise<string | void>;
  /** The alert on the overview: its title and its detail. */
  readonly alert: RegExp;
  /** The finding of `jobs doctor`. Default: that of the overview. */
  readonly finding?: RegExp;
  /** Whether doctor finds it by measuring the store. */
  readonly isMeasured?: true;
  /** The command that doctor prints. */
  readonly command: RegExp;
  /** A line of `jobs show`. */
  readonly why?: RegExp;
  /** A sample that the rule looks at. */
  readonly sample?: RegExp;
  /** Further commands that show it. */
  readonly also?: (lab: Lab) => Promise<void>;
  /** The rule in alerts.yml and in the runbook. */
  readonly rule: string;
}

const TEN_MINUTES_MS = 600_000;

/** A store, with everything that an incident needs. */
class Lab {
  readonly #stack: AsyncDisposableStack;
  readonly bench: Bench;
  /** The address that commands and the overview use. */
  address: string;
  /** Added to the time of the overview. */
  aheadMs = 0;

  constructor(bench: Bench, stack: AsyncDisposableStack) {
    this.bench = bench;
    this.address = bench.url;
    this.#stack = stack;
  }

  use<Resource extends AsyncDisposable>(resource: Resource): Resource {
    return this.#stack.use(resource);
  }

  async worker(args: readonly string[] = [], env: Record<string, string> = {}): Promise<JobsProcess> {
    return this.use(await this.bench.server(["-t", "0", ...args], env));
  }

  run(...args: string[]) {
    return jobs(args, { env: { JOBS_STORE: this.address, COLUMNS: "400" }, cwd: this.bench.folder });
  }

  /** Pushes a job, and waits until its handler runs. */
  async running(name: string, more: Partial<JobRequest> = {}): Promise<string> {
    const jid = await this.bench.push(name, [this.bench.notes, TEN_MINUTES_MS], more);
    await this.bench.noted(`start ${jid}`);
    return jid;
  }

  /** Opens the store as of a time in the past. */
  async past(ms: number): Promise<Store> {
    return this.use(await openStore(this.bench.url, { clock: { ...systemClock, now: () => Date.now() - ms } }));
  }

  /** Pushes a job that has waited for ten minutes. */
  async waiting(name = "Noop", more: Partial<JobRequest> = {}): Promise<string> {
    const client = new Client({ store: await this.past(TEN_MINUTES_MS), onUnregistered: () => {} });
    return (await client.push({ class: name, args: [], ...more }))!;
  }

  get clock() {
    return { ...systemClock, now: () => Date.now() + this.aheadMs };
  }

  /** Returns the text of the alerts on the overview. */
  async overview(store: Store): Promise<string> {
    const page = await this.visit(store, "/");
    const list = /<ul class="alerts".*?<\/ul>/s.exec(page)?.[0] ?? "";
    const text = list.replaceAll(/<\/li>/g, "\n").replaceAll(/<[^>]*>/g, " ").replaceAll("&quot;", '"');
    return text.replaceAll("&#39;", "'").replaceAll(/ +/g, " ");
  }

  async visit(store: Store, path: string): Promise<string> {
    await using web = createWeb({ store, clock: this.clock });
    return (await new Visitor(web, "127.0.0.1").visit(path)).text;
  }
}

/** Asserts that commands to the only worker, by name and to all, tell at once why it can't follow them. */
async function assertCantFollow(lab: Lab, why: RegExp): Promise<void> {
  const { workers: [worker] } = JSON.parse((await lab.run("workers", "--json")).stdout);
  for (const args of [["dump", worker.id], ["stop", worker.id], ["quiet", "--all"]]) {
    const { code, stdout, stderr } = await lab.run(...args);
    assertEquals([code, stdout], [1, ""]);
    assertMatch(stderr, new RegExp(`^jobs: Worker "${worker.id}" can't follow: ${why.source}`));
  }
  const { jobs: [{ jid }] } = JSON.parse((await lab.run("list", "running", "--json")).stdout);
  const { stderr } = await lab.run("cancel", jid);
  assertMatch(
    stderr,
    /^jobs: the process of worker \S+ (has ended|is stopped).*: its cancelled jobs end once its heartbeat/,
  );
}

const ONE = ["-c", "1"];
const RUN_MS = 60_000;

/** Runs a module in a separate process. */
function evaluate(code: string): Deno.ChildProcess {
  const [program, ...args] = denoCommand("eval", code);
  return new Deno.Command(program, { args, stdout: "piped" }).spawn();
}

const INCIDENTS: readonly Incident[] = [
  {
    name: "handlers hang",
    // It takes 10 s: a job that has run for less isn't named.
    on: "redis",
    stage: async (lab) => {
      await lab.worker(["-c", "2"]);
      await Promise.all([lab.running("Hang"), lab.running("Hang")]);
      return await lab.waiting();
    },
    alert:
      /Queue "default": its 2 running jobs have not ended for .*Queue "default" is 10m\S* behind \(1 job waiting\)\. The longest: Hang \S+ has run for/,
    command: /^jobs dump \S+$/,
    why: /All processors of its queue are busy/,
    sample: /^jobs_processors_busy 2$/m,
    rule: "JobsProcessorsBusy",
  },
  {
    name: "a handler blocks the event loop",
    stage: async (lab) => {
      await lab.worker(ONE);
      await lab.running("Block");
      return await lab.waiting();
    },
    alert: /Block \S+ blocks the event loop of \S+, for/,
    command: /^jobs cancel \w+ && jobs stop \S+$/,
    why: /Block \S+ blocks the event loop of \S+, for \S+: jobs cancel \w+ && jobs stop /,
    sample: /^jobs_workers_blocked 1$/m,
    rule: "JobsEventLoopBlocked",
  },
  {
    name: "a cancel is ignored",
    stage: async (lab) => {
      await lab.worker(ONE);
      const jid = await lab.running("Hang");
      assertMatch((await lab.run("cancel", jid)).stderr, /1 running job aborted: it ends when its handler heeds/);
      return jid;
    },
    alert: /Hang \S+ on \S+ ignores its signal \(Cancelled\) for \S+ and has run for/,
    command: /^jobs stop \S+$/,
    why: /ignores its signal \(Cancelled\) for \S+ and has run for \S+: jobs stop /,
    sample: /^jobs_signals_ignored 1$/m,
    rule: "JobsSignalIgnored",
  },
  {
    name: "a worker on this machine was killed",
    stage: async (lab) => {
      // No heartbeat lapses in this test.
      const worker = await lab.worker(ONE, { JOBS_HEARTBEAT_TIMEOUT: "30m" });
      const jid = await lab.running("Hang");
      worker.kill("SIGKILL");
      await worker.status();
      return jid;
    },
    alert: /The process of a worker has ended without a stop.*\S+:\d+ \(last heartbeat \S+ ago\)/,
    command: /^jobs run handlers\.js$/,
    why: /The process of its worker has ended without a stop: another worker rescues the job/,
    rule: "JobsHeartbeatLost",
    also: (lab) => assertCantFollow(lab, /its process has ended without a stop, and its jobs are rescued once/),
  },
  {
    name: "a worker on this machine is stopped by a signal",
    on: "sqlite",
    stage: async (lab) => {
      const worker = await lab.worker(ONE, { JOBS_HEARTBEAT_TIMEOUT: "30m" });
      const jid = await lab.running("Hang");
      worker.kill("SIGSTOP");
      lab.use({ [Symbol.asyncDispose]: () => Promise.resolve(worker.kill("SIGCONT")) });
      return jid;
    },
    alert: /The process of a worker is stopped by a signal.*\S+:\d+ \(last heartbeat \S+ ago\)/,
    command: /^kill -CONT \d+$/,
    why: /The process of its worker is stopped by a signal/,
    rule: "JobsHeartbeatLost",
    also: (lab) => assertCantFollow(lab, /its process is stopped by a signal, continue it: kill -CONT \d+\n/),
  },
  {
    name: "workers are quiet, between two heartbeats",
    stage: async (lab) => {
      const worker = await lab.worker(ONE, { JOBS_HEARTBEAT: "30s" });
      await lab.run("quiet", "--all");
      await worker.logged("Quiet: taking no more jobs");
      return await lab.waiting();
    },
    alert: /All workers are quiet for \S+: no job is fetched/,
    command: /^jobs resume --all-workers$/,
    why: /All workers of queue "default" are quiet for \S+\. jobs resume --all-workers/,
    sample: /^jobs_workers_quiet 1$/m,
    rule: "JobsNoProcess",
  },
  {
    name: "a pause was forgotten",
    stage: async (lab) => {
      await lab.worker(ONE);
      await lab.run("pause", "default");
      return await lab.waiting();
    },
    alert: /Queue "default" is paused, for \S+ now, by \S+ \(1 job waiting, for 10m/,
    command: /^jobs resume default$/,
    why: /Queue "default" is paused until it is resumed, for \S+ now, by \S+ jobs resume default/,
    sample: /^jobs_queue_paused\{queue="default"\} 1$/m,
    rule: "JobsQueuePaused",
  },
  {
    name: "a limit is too low",
    stage: async (lab) => {
      await lab.run("limit", "default", "--running", "1");
      await lab.worker(["-c", "5"]);
      await lab.running("Hang");
      return await lab.waiting();
    },
    // The job that runs is named after 10 s: a shorter one may have ended since the heartbeat.
    alert: /Queue "default" is 10m\S* behind.*It is at its limit: 1 of 1 running, set \S+ ago by \w+\./,
    command: /^jobs limit default --running 2$/,
    why: /at its limit: 1 of 1 running, set \S+ ago by \w+\. .*jobs limit default --running 2 raises/,
    sample: /^jobs_queue_limited\{queue="default"\} 1$/m,
    rule: "JobsQueueAtLimit",
  },
  {
    name: "the limit of a group is too low",
    stage: async (lab) => {
      await lab.run("limit", "default", "--each-group", "--running", "1");
      await lab.worker(["-c", "5"]);
      await lab.running("Hang", { group: "acme" });
      return await lab.waiting("Noop", { group: "acme" });
    },
    alert:
      /Queue "default" is 10m\S* behind \(1 job waiting\).*1 group held\. Group "acme" is at its limit: 1 of 1 running, set \S+ ago by \w+\./,
    command: /^jobs limit default --each-group --running 2$/,
    why:
      /Group "acme" is at its limit: 1 of 1 running, set \S+ ago by \w+\. jobs limit default --each-group --running 2 raises/,
    rule: "JobsQueueLatencyHigh",
  },
  {
    name: "a class is missing after a deploy",
    stage: async (lab) => {
      const worker = await lab.worker(ONE);
      const jid = await lab.bench.push("Gone", []);
      await worker.logged("Set aside for a worker with its class");
      return jid;
    },
    alert: /No worker of queue "default" has a handler for Gone.*Its jobs wait for one, for/,
    command: /^jobs run handlers\.js -q default$/,
    why:
      /No worker of queue "default" has a handler for Gone: it waits for one\. \S+ takes its jobs and lacks it\. Start one with jobs run/,
    rule: "JobsNoHandler",
  },
  {
    name: "a poison job crashes its workers",
    stage: async (lab) => {
      const jid = await lab.bench.push("Crash", [lab.bench.notes]);
      await lab.worker(["-q", "other"]);
      while ((await lab.bench.store.jobs.find([jid]))[0]?.place.in !== "dead") {
        const worker = new JobsProcess({
          store: lab.bench.url,
          args: [lab.bench.handlers, "-c", "1", "--burst"],
          env: { ...MORTAL, JOBS_HEARTBEAT_TIMEOUT: "1s" },
        });
        await lab.use(worker).status();
      }
      return jid;
    },
    alert: /Crash crashes its workers: 1 job moved to dead.*\S+ ago\. Each attempt ended its worker/,
    command: /^jobs show \w+$/,
    why: /It is dead: it crashed its workers/,
    sample: /^jobs_set_size\{set="dead"\} 1$/m,
    rule: "JobsCrashing",
  },
  {
    name: "the store is slow",
    on: "redis",
    stage: async (lab) => {
      await lab.worker();
      const url = new URL(lab.bench.url);
      const proxy = lab.use(await TcpProxy.start(Number(url.port)));
      url.port = String(proxy.port);
      lab.address = url.href;
      proxy.delayMs = 510;
    },
    alert: /The store took 1(\.\d+)?s to return its counts/,
    command: /^redis-cli slowlog get 10$/,
    sample: /^jobs_store_round_trip_seconds 1\.\d+$/m,
    rule: "JobsStoreSlow",
  },
  {
    name: "another program locks the store now and then",
    on: "sqlite",
    stage: async (lab) => {
      await lab.worker();
      await lab.overview(lab.bench.store);
      const file = lab.bench.url.slice("sqlite:".length);
      const code = `import { DatabaseSync } from "node:sqlite"; const it = new DatabaseSync(${JSON.stringify(file)});
        for (;;) {
          it.exec("PRAGMA busy_timeout = 9000; BEGIN IMMEDIATE"); console.log("locked");
          await new Promise((resolve) => setTimeout(resolve, 4_000));
          it.exec("ROLLBACK");
          await new Promise((resolve) => setTimeout(resolve, 1_000));
        }`;
      const child = lab.use(evaluate(code));
      const reader = child.stdout.getReader();
      await reader.read();
      await reader.cancel();
    },
    // The overview looks once.
    alert: /^/,
    isMeasured: true,
    finding: /it stalled (once|\d+ times) in \d+s, for (up to )?\d+(\.\d+)?s, and else .*another program \(PID \d+\)/,
    command: /^ps -fp \d+$/,
    rule: "JobsStoreSlow",
  },
  {
    name: "the store stalls now and then",
    on: "redis",
    stage: async (lab) => {
      await lab.worker();
      const url = new URL(lab.bench.url);
      const proxy = lab.use(await TcpProxy.start(Number(url.port)));
      url.port = String(proxy.port);
      lab.address = url.href;
      const stop = every(1_200, () => proxy.weather = proxy.weather === "fair" ? "held" : "fair");
      lab.use({ [Symbol.asyncDispose]: () => Promise.resolve(stop()) });
    },
    alert: /^/,
    isMeasured: true,
    finding: /it stalled (once|\d+ times) in \d+s, for (up to )?\S+, and else takes .+ for a write/,
    command: /^redis-cli slowlog get 10; /,
    rule: "JobsStoreSlow",
  },
  {
    name: "another program has locked the store",
    on: "sqlite",
    stage: async (lab) => {
      await lab.worker();
      // The first page stores the key of its forms.
      await lab.overview(lab.bench.store);
      const file = lab.bench.url.slice("sqlite:".length);
      const code = `import { DatabaseSync } from "node:sqlite"; const it = new DatabaseSync(${JSON.stringify(file)});
        it.exec("BEGIN IMMEDIATE"); console.log("locked"); setTimeout(() => it.exec("ROLLBACK"), ${RUN_MS});`;
      const child = lab.use(evaluate(code));
      const reader = child.stdout.getReader();
      await reader.read();
      await reader.cancel();
      // As if it had lasted longer than it does in this test.
      lab.aheadMs = 12_000;
    },
    alert: /The heartbeat of a worker is late: it is known as of 1\d(\.\d)?s ago.*The store is slow or locked/,
    finding: /another program \(PID \d+\) has locked the file for over 1s: no job is pushed or fetched/,
    command: /^ps -fp \d+$/,
    sample: /^jobs_heartbeat_age_seconds 1\d/m,
    rule: "JobsHeartbeatLost",
  },
  {
    name: "a cron entry died: no worker has it any more",
    stage: async (lab) => {
      await lab.worker();
      const store = await lab.past(2 * 3_600_000);
      const { active: [entry] } = checkCrontab([{ name: "sync stock", class: "Noop", every: "1h" }], {
        environment: "production",
        optionsOf: () => undefined,
      });
      const { now } = await store.cron.page();
      const written = await store.cron.write([{
        ...{ name: "sync stock", version: 0, jobs: [], awaited: false, records: [] },
        definition: definitionText(entry!, "config"),
        state: stateText(plan(entry!, undefined, now).state, entry!.schedule),
      }]);
      assertEquals(written.length, 1);
    },
    alert: /Cron entry "sync stock" did not run: due 1h\S* ago.*No running worker has it in its configuration/,
    command: /^jobs cron run 'sync stock'$/,
    sample: /^jobs_cron_overdue_seconds [3-7]\d\d\d/m,
    rule: "JobsCronOverdue",
  },
  {
    name: "a batch is stuck",
    stage: async (lab) => {
      await lab.worker();
      const batch = await lab.bench.client.batches.open({ name: "mails" });
      await lab.bench.push("Noop", [], { batch: batch.id });
      const jid = await lab.bench.push("Fail", [], { retry: 0, batch: batch.id });
      await batch.close();
      return jid;
    },
    alert:
      /Batch "mails" \(\w+\) waits for 1 dead job, for \S+.*1 of 2 jobs is dead, the others have ended: retry or delete/,
    command: /^jobs batch retry \w+$/,
    why: /It is dead: it has no retries\. jobs retry \w+ runs it again/,
    also: async (lab) => {
      const [{ id }] = JSON.parse((await lab.run("batch", "list", "--json")).stdout).batches;
      const { why } = JSON.parse((await lab.run("batch", "show", id, "--json")).stdout);
      assertMatch(
        why[0],
        /^It waits for its dead job, for \S+\. jobs batch retry (\w+) runs it again; jobs list dead --batch \1/,
      );
      assertMatch((await lab.run("batch", "show", id)).stdout, /^why +It waits for its dead job/m);
      assertMatch((await lab.run("list", "dead", "--batch", id)).stdout, /Fail/);
    },
    sample: /^jobs_batches\{kind="batch",state="stuck"\} 1$/m,
    rule: "JobsBatchStuck",
  },
  {
    name: "an endless retry storm",
    stage: async (lab) => {
      const file = `${lab.bench.folder}/storm.js`;
      await Deno.writeTextFile(
        file,
        `export function Boom() { throw new Error("remote is down"); }
         // It rests after a while, so that jobs show finds the job in one place.
         Boom.options = { retry: 10_000, retryIn: (count) => count < 12 ? 0.05 : 3_600 };`,
      );
      await lab.worker([file]);
      const jids = await Promise.all([1, 2, 3].map(() => lab.bench.push("Boom", [], { retry: 10_000 })));
      await lab.bench.until(async () => {
        const { failed, retry } = await lab.bench.store.admin.stats();
        return failed >= 39 && retry === 3; // 13 attempts each: now they rest
      });
      return jids[0]!;
    },
    alert:
      /100 % of attempts failed (?:today|in the last).*of \d+ attempts, most of class Boom.*, for \S+ jobs pause default/,
    command: /^jobs errors --class Boom$/,
    why: /Error: remote is down/,
    sample: /^jobs_failed_total \d\d+$/m,
    rule: "JobsFailing",
  },
];

const read = (path: string) => Deno.readTextFile(new URL(`../../${path}`, import.meta.url));

shareRedis();
for (const { name, on, stage, alert, finding = alert, command, why, sample, also, isMeasured, rule } of INCIDENTS) {
  for (const kind of ["sqlite", "redis"] as const) {
    if (on !== undefined && on !== kind) continue;
    Deno.test(`incident: ${name} (${kind})`, async () => {
      await using stack = new AsyncDisposableStack();
      const bench = stack.use(await Bench.open(kind === "redis" ? await sharedRedisUrl() : undefined));
      const lab = new Lab(bench, stack);
      const jid = await stage(lab);
      const store = lab.address === bench.url ? bench.store : lab.use(await openStore(lab.address));
      let seen = "";
      await until(async () => {
        const alerts = alertsOf(await readSituation({ store, clock: lab.clock, classes: [] }));
        return alert.test(seen = alerts.map(({ title, detail }) => `${title}. ${detail}`).join("\n"));
      }, () => `${alert}; it has: ${seen}`);

      const [doctor, shown, overview, metrics] = await Promise.all([
        lab.run("doctor", "--json", ...(isMeasured ? [] : ["--measure", "0s"])),
        jid && lab.run("show", jid),
        lab.overview(store),
        sample && lab.visit(store, "/metrics"),
      ]);
      const findings: { message: string; cure?: string }[] = JSON.parse(doctor.stdout).findings;
      const found = findings.find(({ message }) => finding.test(message));
      assertMatch(String(found?.cure), command, `doctor found: ${JSON.stringify(findings)}`);
      assertMatch(overview, alert);
      if (shown && why) assertMatch(shown.stdout, why);
      if (metrics && sample) assertMatch(metrics, sample);
      await also?.(lab);
      assertMatch(await read("packaging/prometheus/alerts.yml"), new RegExp(`alert: ${rule}\n`));
      assertMatch(await read("docs/operate/runbook.md"), new RegExp(`\`${rule}\``));
    });
  }
}

Deno.test("the job that holds up the runs of a cron entry is named, with the command that ends it", async () => {
  await using bench = await Bench.open();
  const { store } = bench;
  const crontab = new Crontab({ store, client: bench.client });
  const args = [bench.notes, TEN_MINUTES_MS];
  await crontab.add({ name: "sync stock", class: "Hang", args, every: "1s", overlap: "skip" });
  await using _worker = await bench.server(["-t", "0"]);
  let seen = "";
  await until(async () => {
    const alerts = alertsOf(await readSituation({ store, clock: systemClock, classes: [] }));
    seen = alerts.map(({ title, detail, command }) => `${title}. ${detail} → ${command}`).join("\n");
    return /The last \d+ runs of cron entry "sync stock" weren't enqueued, for \S+: job (\w+) of an earlier run hasn't ended\. Hang \1 has run for \S+ on \S+; jobs show \1 shows more\. → jobs cancel \1/
      .test(seen);
  }, () => seen);
});

Deno.test("a job whose workers ended with it is named while it runs, also if its worker has reported nothing", async () => {
  await using bench = await Bench.open();
  const { store } = bench;
  const payload = '{"class":"Poison","args":[],"jid":"p1","queue":"default","suspected":1,"rescues":2}';
  await store.jobs.enqueue([{ jid: "p1", queue: "default", payload }]);
  const read = async () => (await readSituation({ store, clock: systemClock, classes: [] })).suspects;
  const named = [{ class: "Poison", jid: "p1", rescues: 2, suspected: 1 }];
  assertEquals(await read(), named);
  assertEquals((await store.jobs.take({ queues: ["default"], limit: 1, worker: "gone:1:a" })).length, 1);
  assertEquals(await read(), named);
});

Deno.test("the class in a wrapper needs the handler, not the wrapper", async () => {
  await using bench = await Bench.open();
  const { store } = bench;
  const wrapper = "ActiveJob::QueueAdapters::SidekiqAdapter::JobWrapper";
  for (const [jid, wrapped] of [["m1", "UserMailer"], ["g1", "GoneMailer"]]) {
    const payload = JSON.stringify({ class: wrapper, wrapped, args: [{ job_class: wrapped }], jid, queue: "default" });
    await store.jobs.enqueue([{ jid: jid!, queue: "default", payload }]);
  }
  await store.workers.heartbeat(workerRecord("w:1:a", { queues: ["default"], classes: ["UserMailer"] }), 60_000);
  const { unhandled } = await readSituation({ store, clock: systemClock, classes: [] });
  assertEquals(unhandled.map(({ class: name }) => name), ["GoneMailer"]);
});
