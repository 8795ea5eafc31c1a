/**
 * One bad row in a key or a table, written by another program: every page, route and list still shows the good rows. The damages
 * add up, so that each is also tried together with those before it.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { Connection } from "../../src/store/redis/client/connection.ts";
import { createWeb } from "../../src/web/web.ts";
import { jobs } from "../support/process.ts";
import { fillStore, READS } from "./bad_rows.ts";
import { openSite, PATIENT, type Site, Visitor } from "./site.ts";

/** Changes of another program to the rows called `evil`; `{batch}` and `{flow}` are the IDs of the evil batch and flow. */
const REDIS: readonly (readonly string[])[] = [
  ["HSET", "jobs:steps:evil-sleeps", "evil-step", '{"state":'],
  ["HSET", "jobs:steps:evil-sleeps", "evil-wait", '{"state":"waiting","until":"x","since":{}}'],
  ["HSET", "jobs:steps:evil-sleeps", "evil-time", '{"state":"waiting","until":1e300,"since":1e300}'],
  ["HSET", "jobs:steps:evil-sleeps", "evil-error", '{"state":"failed","since":1,"error":null}'],
  ["LPUSH", "jobs:cron:log:evil", '1 {"outcome":"enqueued","scheduledAt":1e300,"decidedAt":1}'],
  ["LPUSH", "jobs:cron:log:evil", '1 {"outcome":"missed","count":3,"scheduledAt":1,"decidedAt":2}', "1 {", "x"],
  ["HSET", "jobs:cron:entries", "evil", '1 1 0 1 0 52 0:{"name":"evil","class":"x","args":[],"options":null}{'],
  [
    "ZADD",
    "schedule",
    "inf",
    '{"class":"Hard","args":[],"jid":"evil-inf"}',
    "1e300",
    '{"class":"Hard","jid":"evil-far"}',
  ],
  ["ZADD", "retry", "-inf", '{"class":"Hard","args":[],"jid":"evil-past"}', "1", "{"],
  ["ZADD", "dead", "inf", '{"class":"Hard","args":[],"jid":"evil-inf"}', "1", ""],
  ["LPUSH", "queue:evil", "[1]", '{"class":{},"args":{},"jid":7,"enqueued_at":"x"}'],
  ["HSET", "jobs:leases:evil:7:abc", "evil-lease", "{"],
  ["HSET", "jobs:waits", "evil", "x", "sleep 99999999", "x"],
  ["SET", "stat:processed", "x"],
  ["SET", "jobs:result:evil-ended", '{"jid":"evil-ended","startedAt":1e300,"endedAt":"x","error":7,"log":{}}'],
  ["HSET", "jobs:batch:{batch}", "created", "x", "closed", "1e300", "total", "nan", "dead", ""],
  ["HSET", "jobs:batch:{batch}", "spec", '{"name":{},"tags":7,"callbacks":null}'],
  ["HSET", "jobs:batch:{flow}", "spec", "{"],
  ["HSET", "jobs:flow:{flow}", "j:evil-one", "{", "s:evil-one", "x"],
  ["XADD", "jobs:audit", "*", "at", "inf", "event", "{"],
  ["HSET", "jobs:classes", "Evil", "{"],
  ["HSET", "evil:7:abc", "info", "{", "busy", "x", "rss", "inf", "beat", "inf"],
  ["HSET", "evil:7:abc:work", "p", "{"],
  ["ZADD", "jobs:workers", "inf", "evil:7:abc"],
  ["HSET", "jobs:limits", "evil", "x y"],
  ["ZADD", "jobs:paused-until", "inf", "evil-paused"],
  ["HSET", "jobs:groups:limits:grouped", "evil", "x"],
  ["HSET", "jobs:groups:paused:grouped", "evil", "x"],
  ["HSET", "jobs:groups:state:grouped", "size", "x"],
];

const SQLITE: readonly string[] = [
  `UPDATE step SET record = '{' WHERE name = 'evil-step'`,
  `UPDATE step SET record = '{"state":"waiting","until":1e300,"since":{}}' WHERE name = 'evil-wait'`,
  `UPDATE log SET text = '{"outcome":"enqueued","scheduledAt":1e300,"decidedAt":1}' WHERE name = 'cron:evil'`,
  `UPDATE log SET text = '{' WHERE name = 'cron:evil'`,
  `UPDATE cron SET state = '{' WHERE name = 'evil'`,
  `UPDATE cron SET definition = '{' WHERE name = 'evil'`,
  `UPDATE job SET payload = '{"class":{},"args":{},"jid":7}' WHERE jid IN ('evil-queued', 'evil-later', 'evil-dead')`,
  `UPDATE record SET body = '{"jid":"evil-ended","startedAt":1e300,"error":7}' WHERE jid = 'evil-ended'`,
  `UPDATE batch SET spec = '{' WHERE spec LIKE '%evil-%'`,
  `UPDATE batch SET created = 9e15 WHERE id = '{flow}'`,
  `UPDATE flow_node SET spec = '{' WHERE name = 'evil-one'`,
  `UPDATE log SET text = '{' WHERE name = 'audit' AND text LIKE '%evil%'`,
  `UPDATE class SET options = '{' WHERE name = 'Evil'`,
  `UPDATE worker SET record = '{' WHERE id = 'evil:7:abc'`,
];

/** Commands, and what each of them prints of a good row. */
const COMMANDS: readonly (readonly [command: string, shows: string])[] = [
  ["list queued -q good", "good-queued"],
  ["list queued -q evil", ""],
  ["list scheduled", "good-later"],
  ["list retrying", "good-retry"],
  ["list dead", "good-dead"],
  ["list running", "good-runs"],
  ["list finished", "good-ended"],
  ["list groups grouped", "good"],
  ["list waiting", "good-f"],
  ["find good", "good-queued"],
  ["steps evil-sleeps", "good-step"],
  ["show evil-sleeps", "good-step"],
  ["cron list", "good"],
  ["cron list", "good"],
  ["cron history evil", "unreadable"],
  ["cron history evil", "unreadable"],
  ["batch list", "good-batch"],
  ["flow list", "good-flow"],
  ["flow show {flow}", "evil-two"],
  ["workers", "good:7:abc"],
  ["queues", "good"],
];

interface Damages {
  readonly all: readonly string[];
  apply(index: number): Promise<void>;
}

async function damagesOf(
  kind: "sqlite" | "redis",
  site: Site,
  stack: AsyncDisposableStack,
  ids: Ids,
): Promise<Damages> {
  const filled = (text: string) => text.replaceAll("{batch}", ids.batch).replaceAll("{flow}", ids.flow);
  if (kind === "sqlite") {
    const database = stack.use(new DatabaseSync(site.url.slice("sqlite:".length), { timeout: 5_000 }));
    return {
      all: SQLITE,
      apply(index) {
        const { changes } = database.prepare(filled(SQLITE[index]!)).run();
        assert(changes > 0, SQLITE[index]);
        return Promise.resolve();
      },
    };
  }
  const { hostname: host, port, pathname } = new URL(site.url);
  const options = {
    endpoint: { host, port: Number(port) },
    ...{ login: {}, database: Number(pathname.slice(1)), name: "foreign", replyTimeoutMs: 60_000 },
  };
  const connection = await Connection.connect(options, new AbortController().signal);
  stack.defer(() => connection.destroy());
  return {
    all: REDIS.map((command) => command.join(" ")),
    async apply(index) {
      await connection.send(REDIS[index]!.map(filled));
    },
  };
}

interface Ids {
  readonly batch: string;
  readonly flow: string;
}

for (const kind of ["sqlite", "redis"] as const) {
  Deno.test(`one bad row hides no other, on no page and in no list (${kind})`, async () => {
    await using stack = new AsyncDisposableStack();
    const site = stack.use(await openSite(kind));
    await fillStore(site.store);
    const named = (all: readonly { readonly id: string; readonly name?: string }[], name: string) =>
      all.find((one) => one.name === name)!.id;
    const ids = {
      batch: named((await site.store.batches.read()).batches, "evil-batch"),
      flow: named((await site.store.batches.read({ flows: true })).batches, "evil-flow"),
    };
    const paths = [
      ...READS,
      ...[`/batches/${ids.batch}`, `/flows/${ids.flow}`, `/api/v1/batches/${ids.batch}`, `/api/v1/flows/${ids.flow}`],
      `/api/v1/flows/${ids.flow}/nodes`,
    ];
    const read = async () => {
      await using web = createWeb({ store: site.store, clock: PATIENT });
      const visitor = new Visitor(web, "127.0.0.1");
      const answers = new Map<string, { readonly status: number; readonly text: string }>();
      for (const path of paths) answers.set(path, await visitor.send(path));
      return answers;
    };
    const before = await read();
    const damages = await damagesOf(kind, site, stack, ids);
    for (const [i, damage] of damages.all.entries()) {
      await damages.apply(i);
      for (const [path, { status, text }] of await read()) {
        assert(status < 500, `${path} after ${damage}: ${status} ${text.slice(-300)}`);
        const hasGood = before.get(path)!.text.includes("good");
        if (status === 200 && hasGood) assertStringIncludes(text, "good", `${path} after ${damage}`);
      }
    }
    const last = await read();
    assertStringIncludes(last.get("/jobs/evil-sleeps")!.text, "unreadable");
    assertStringIncludes(last.get("/api/v1/jobs/evil-sleeps/steps")!.text, '"state":"unreadable"');
    assertStringIncludes(last.get("/cron/evil")!.text, "unreadable");
    assertStringIncludes(last.get("/api/v1/cron/evil")!.text, '"outcome":"unreadable"');
    assertStringIncludes(last.get("/api/v1/batches")!.text, "(unreadable)");
    // As text and as JSON in turns: the pages have tried each record in both forms.
    const checks = COMMANDS.map(([command, shows], i) => async () => {
      const args = [
        ...command.replace("{flow}", ids.flow).split(" "),
        ...(i % 2 ? ["--json"] : []),
        "--store",
        site.url,
      ];
      const { code, stdout, stderr } = await jobs(args);
      assertEquals([code, /unexpected error/.test(stderr)], [0, false], `${args.join(" ")}: ${stderr}`);
      assertStringIncludes(stdout, shows, args.join(" "));
    });
    while (checks.length > 0) await Promise.all(checks.splice(0, 4).map((check) => check()));
  });
}
