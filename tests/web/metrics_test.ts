/** The exported metrics, and the files in `packaging/` that use them, checked by Prometheus' tools. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { parseYaml } from "../../src/config/yaml.ts";
import { ALL_QUEUES } from "../../src/store/port/paused_queues.ts";
import { Bench } from "../support/bench.ts";
import { jobs, JobsProcess, MORTAL } from "../support/process.ts";
import { promtool } from "../support/promtool.ts";
import { freePort } from "../support/redis.ts";
import { Client } from "../../src/client/client.ts";
import { onBothStores, openSite } from "./site.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
const HANDLERS = `
export { Fail, Noop, Note, Wait } from "${ROOT}tests/support/handlers.js";
export { Exit, WhichProcess } from "${ROOT}tests/support/horse_handlers.js";
export const Later = (ctx) => ctx.snooze("1h");
`;

/** The names of the samples that a text declares. */
function sampleNames(text: string): Set<string> {
  const names = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].flatMap(([, name, kind]) =>
    kind === "histogram" ? ["_bucket", "_sum", "_count"].map((suffix) => name! + suffix) : [name!]
  );
  return new Set(names);
}

/** The labels of each sample in a text. */
function labelsOf(text: string): Map<string, Set<string>> {
  const labels = new Map<string, Set<string>>();
  for (const [, name, inside] of text.matchAll(/^([a-z]\w*)\{(.*)\} /gm)) {
    const known = labels.get(name!) ?? new Set();
    for (const [, label] of inside!.matchAll(/(\w+)="/g)) known.add(label!);
    labels.set(name!, known);
  }
  return labels;
}

interface Panel {
  readonly title: string;
  readonly targets?: readonly { readonly expr: string }[];
}

Deno.test("exports outcomes, cron entries, rescues and work horses; dashboard and alerts use nothing else", async () => {
  await using bench = await Bench.open();
  const web = `http://127.0.0.1:${freePort()}/`;
  const config = `${bench.folder}/jobs.json`;
  await Deno.writeTextFile(config, JSON.stringify({ cron: [{ name: "tick", class: "Noop", every: "1s" }] }));
  const handlers = `${bench.folder}/handlers.js`;
  await Deno.writeTextFile(handlers, HANDLERS);
  const args = [handlers, "-C", config, "-c", "4", "--web", web.slice(7, -1)];
  // It has expired before a worker takes it.
  await bench.push("Note", [bench.notes], { expires_in: 0.001 });
  await using server = new JobsProcess({
    store: bench.url,
    args,
    env: { ...MORTAL, JOBS_MAX_JOBS_PER_ISOLATED_PROCESS: "1" },
  });
  await server.logged("Ready");
  await bench.push("Fail", []);
  await bench.push("Fail", [], { retry: false });
  await bench.push("Exit", [3]);
  await bench.push("WhichProcess", [bench.notes]);
  await bench.push("Later", []);
  await bench.push("Unknown", []);
  const cancelled = await bench.push("Wait", [bench.notes]);
  await bench.noted(`start ${cancelled}`);
  const asked = await fetch(`${web}api/v1/jobs/${cancelled}/cancel`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: "{}",
  });
  assertEquals(await asked.json(), { asked: 1 });
  {
    await using doomed = await bench.server(["-q", "doomed", "-c", "1"], MORTAL);
    const jid = await bench.push("Hang", [bench.notes], { queue: "doomed" });
    await bench.noted(`start ${jid}`);
    doomed.kill("SIGKILL");
  }
  const scrape = async () => await (await fetch(`${web}metrics`)).text();
  const wanted = [
    'jobs_ended_total{class="Fail",outcome="retried"} 2',
    'jobs_ended_total{class="Fail",outcome="dead"} 1',
    'jobs_ended_total{class="Fail",outcome="discarded"} 1',
    'jobs_ended_total{class="Exit",outcome="dead"} 1',
    'jobs_ended_total{class="Note",outcome="expired"} 1',
    'jobs_performed_total{class="WhichProcess",outcome="succeeded"} 1',
    'jobs_performed_total{class="Fail",outcome="succeeded"} 0',
    'jobs_performed_total{class="Fail",outcome="failed"} 4',
    'jobs_run_seconds_count{class="Fail"} 4',
    'jobs_wait_seconds_count{class="Fail"} 4',
    // A snooze or a cancellation isn't a failure.
    'jobs_ended_total{class="Later",outcome="snoozed"} 1',
    'jobs_performed_total{class="Later",outcome="failed"} 0',
    'jobs_run_seconds_count{class="Later"} 0',
    'jobs_performed_total{class="Unknown",outcome="failed"} 0',
    'jobs_ended_total{class="Wait",outcome="cancelled"} 1',
    'jobs_performed_total{class="Wait",outcome="failed"} 0',
    "jobs_rescued_total 1",
    "jobs_dead_by_crashes_total 0",
    "jobs_leases_lost_total 0",
    "jobs_isolated_processes_killed_total 1",
    "jobs_isolated_processes_replaced_total 1",
    "jobs_store_up 1",
    "jobs_all_queues_paused 0",
  ];
  await bench.until(async () => {
    const text = await scrape();
    // A job without a handler goes aside once.
    return wanted.every((line) => text.includes(`${line}\n`)) &&
      /^jobs_ended_total\{class="Unknown",outcome="unhandled"\} [1-9]/m.test(text) &&
      !text.includes("jobs_cron_lateness_seconds_count 0\n");
  }, "all of it is counted").catch(async (error) => {
    const text = await scrape();
    throw new Error(`${error.message}: missing ${wanted.filter((line) => !text.includes(line)).join("; ")}`);
  });
  const text = await scrape();
  assertEquals(await promtool(["check", "metrics"], text), "");

  assert(!text.includes("process="), "one worker needs no number");

  // Exported with --processes alone: processes_metrics_test.ts.
  const names = sampleNames(text).add("jobs_process_up");
  // Exported with PostgreSQL, and with an outbox.
  for (const name of ["jobs_pg_horizon_age_seconds", "jobs_outbox_up", "jobs_outbox_refused"]) names.add(name);
  const labels = labelsOf(text);
  const dashboard = JSON.parse(await Deno.readTextFile(`${ROOT}packaging/grafana/jobs.json`));
  // deno-lint-ignore no-explicit-any -- a document of a foreign format
  const rules = (parseYaml(await Deno.readTextFile(`${ROOT}packaging/prometheus/alerts.yml`)) as any).groups[0].rules;
  const panels = (dashboard.panels as Panel[]).flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({ title, expr }))
  );
  const alerts = rules.map((rule: { alert: string; expr: string }) => ({ title: rule.alert, expr: rule.expr }));
  assert(panels.length > 25 && alerts.length > 6);
  for (const { title, expr } of [...panels, ...alerts]) {
    const asked = [...expr.matchAll(/\bjobs_\w+/g)].map(([name]) => name);
    assert(asked.length > 0, title);
    assertEquals(asked.filter((name) => !names.has(name)), [], title);
    // Queries use labels that a sample has, or that Prometheus adds.
    const known = new Set(["job", "instance", ...asked.flatMap((name) => [...labels.get(name) ?? []])]);
    const used = [...expr.matchAll(/\b(?:by|on) \(([^)]*)\)|[{,](\w+)=/g)]
      .flatMap(([, group, label]) => label ?? group!.split(/,\s*/));
    assertEquals(used.filter((label) => !known.has(label)), [], title);
    // Selectors and groupings name labels of the metric next to them; another metric of the query doesn't help.
    const ofOne: [string, string[]][] = [
      ...[...String(expr).matchAll(/\b(jobs_\w+)\{([^}]*)\}/g)].map((
        [, name, selector],
      ): [string, string[]] => [name!, [...selector!.matchAll(/(\w+)=/g)].map(([, label]) => label!)]),
      ...[...String(expr).matchAll(/\bby \(([^)]*)\) \((?:\w+\()*(jobs_\w+)/g)].map((
        [, group, name],
      ): [string, string[]] => [name!, group!.split(/,\s*/)]),
    ];
    for (const [name, used] of ofOne) {
      const own = new Set(["job", "instance", ...labels.get(name) ?? []]);
      assertEquals(used.filter((label) => !own.has(label)), [], `${title}: ${name}`);
    }
  }
});

Deno.test("Prometheus accepts the alerts and the scrape example, and the alerts fire when they should", async () => {
  const folder = `${ROOT}packaging/prometheus`;
  assertStringIncludes(await promtool(["check", "rules", `${folder}/alerts.yml`]), "SUCCESS");
  assertStringIncludes(await promtool(["check", "config", "--syntax-only", `${folder}/scrape.yml`]), "SUCCESS");
  assertStringIncludes(await promtool(["test", "rules", `${ROOT}tests/web/alerts.yml`]), "SUCCESS");
});

Deno.test("without its store, a worker still exports its metrics, and that the store is down", async () => {
  await using site = await openSite("redis", {
    counts: () => Promise.resolve([{ process: undefined, counts: NOTHING }]),
  });
  const someone = site.visitor();
  assertStringIncludes((await someone.visit("/metrics")).text, "jobs_store_up 1\n");
  await site.store[Symbol.asyncDispose]();
  const { status, text } = await someone.visit("/metrics");
  assertEquals(status, 200);
  assertStringIncludes(text, "jobs_store_up 0\n");
  assertStringIncludes(text, "jobs_rescued_total 0\n");
  assert(!text.includes("jobs_set_size"));
  assertEquals(await promtool(["check", "metrics"], text), "");
});

onBothStores(
  "the metrics of groups have the largest 20 of a queue, and the others in one",
  async ({ store, visitor }) => {
    const job = (n: number, group: string) => {
      const [jid, queue] = [`group-${n}`, "default"];
      return { jid, queue, group, payload: JSON.stringify({ class: "A", args: [], jid, queue, group }) };
    };
    const names = Array.from({ length: 25 }, (_, i) => i === 0 ? "(other)" : `group ${i} "x"`);
    await store.jobs.enqueue(
      names.flatMap((name, i) => Array.from({ length: 30 - i }, (_, n) => job(100 * i + n, name))),
    );
    await store.admin.configure("default", { group: "group 24", pause: true });
    const text = (await visitor().visit("/metrics")).text;
    const lines = text.split("\n").filter((line) => line.startsWith("jobs_group_size{"));
    assertEquals(lines.length, 20);
    assertEquals(lines[0], 'jobs_group_size{queue="default",group="group 1 \\"x\\""} 29');
    assertEquals(lines.at(-1), `jobs_group_size{queue="default",group="(other)"} ${30 + 10 + 9 + 8 + 7 + 6}`);
    assertEquals(text.split("\n").filter((line) => line.startsWith("jobs_group_running{")).length, 20);
    assertStringIncludes(text, 'jobs_queue_groups_held{queue="default"} 0\n');
    assertEquals(await promtool(["check", "metrics"], text), "");
  },
);

onBothStores("the metrics of batches and flows count them by state", async ({ store, visitor }) => {
  const client = new Client({ store, onUnregistered: () => {} });
  await client.batches.open({});
  for (let i = 0; i < 2; i++) await (await client.batches.open({})).close();
  await client.flow("nightly", { load: { job: ["Load", []] } });
  const text = (await visitor().visit("/metrics")).text;
  const lines = text.split("\n").filter((line) => line.startsWith("jobs_batches{"));
  assertEquals(lines.length, 14);
  assertEquals(lines.filter((line) => !line.endsWith(" 0")), [
    'jobs_batches{kind="batch",state="open"} 1',
    'jobs_batches{kind="batch",state="succeeded"} 2',
    'jobs_batches{kind="flow",state="running"} 1',
  ]);
  assertEquals(await promtool(["check", "metrics"], text), "");
});

const NOTHING = {
  classes: new Map(),
  occurrences: {},
  lateness: { bounds: [1], counts: [0, 0], sum: 0 },
  rescued: 0,
  buried: 0,
  leasesLost: 0,
  deadDropped: 0,
  loopDelayMs: 0,
  horses: undefined,
};

onBothStores("a worker isn't ready while all queues are paused", async ({ store, visitor }) => {
  const ready = async () => {
    const { status, text } = await visitor().visit("/readyz");
    return [status, text];
  };
  await store.admin.configure("mail", { pause: true });
  assertEquals(await ready(), [200, "ready\n"]);
  await store.admin.configure(ALL_QUEUES, { pause: true });
  assertEquals(await ready(), [503, "Suspended: all queues are paused; jobs resume ends it\n"]);
  assertStringIncludes((await visitor().visit("/metrics")).text, "jobs_all_queues_paused 1\n");
  await store.admin.configure(ALL_QUEUES, { pause: false });
  assertEquals(await ready(), [200, "ready\n"]);
}, { notReady: () => undefined });

onBothStores(
  "a dashboard without a worker stays ready while all queues are paused, because it resumes them",
  async (site) => {
    await site.store.admin.configure(ALL_QUEUES, { pause: true });
    assertEquals((await site.visitor().visit("/readyz")).status, 200);
  },
);

Deno.test("jobs doctor --ready reports that all queues are paused", async () => {
  await using bench = await Bench.open();
  await using _server = await bench.server();
  const ready = async () => {
    const { code, stdout, stderr } = await jobs(["doctor", "--ready", "--store", bench.url]);
    return [code, stdout, stderr];
  };
  assertEquals(await ready(), [0, "ready\n", ""]);
  await bench.store.admin.configure(ALL_QUEUES, { pause: true });
  assertEquals(await ready(), [1, "", "jobs: not ready: all queues are paused; jobs resume resumes them\n"]);
});
