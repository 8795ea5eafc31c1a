/**
 * `make bench-peers`: the same jobs in ours and in other systems, in turns, several rounds. Prints a table, and writes a
 * JSON file with every round.
 *
 *     deno task bench:peers [--rounds 3] [--jobs 50000] [--sizes 10,1000,10000] [--only "BullMQ,RQ"] [--json FILE]
 *
 * One process each performs no-op jobs, 10 at once, from the first to the last; all are pushed beforehand. A system that
 * can't be installed here is named and left out. `docs/benchmarks.md` says what is compared.
 */
import { parseArgs } from "@std/cli/parse-args";
import { startRedis } from "../support/redis.ts";
import { describeMachine, formatNumber, formatSpread, inTurn, printTable, ROOT, spreadOf } from "./measure.ts";
import { openPostgres, type Postgres } from "./postgres.ts";
import { installPeers, type Peer } from "./peers_programs.ts";

const flags = parseArgs(Deno.args, { string: ["rounds", "jobs", "sizes", "only", "json"] }) as Readonly<
  Record<string, string | undefined>
>;
const rounds = Number(flags["rounds"] ?? 3);
const jobs = Number(flags["jobs"] ?? 50_000);
const sizes = (flags["sizes"] ?? "10,1000,10000,100000").split(",").map(Number);
/** At most this many bytes of payloads per run: each system keeps them in memory. */
const MAX_BYTES = 200_000_000;

/** The rates of one run, in jobs per second. */
interface Rates {
  readonly push: number;
  readonly drain: number;
  /** Processor time per performed job in microseconds: of the worker, and of its gateway if it has one. */
  readonly cpu?: number;
  readonly server?: number;
}

/** The names of the systems to run contain one of these. */
const only = (flags["only"] ?? "").split(",");

const folder = await Deno.makeTempDir({ prefix: "jobs-peers-" });
try {
  await using redis = await startRedis();
  await using postgres = await openPostgres();
  const { peers: all, missing } = await installPeers(folder, postgres);
  const peers = all.filter(({ name }) => only.some((part) => name.includes(part)));
  const machine = await describeMachine();
  console.log(`${machine}. Medians of ${rounds} rounds, with the lowest and the highest.`);
  console.log(`Redis ${/redis_version:(\S+)/.exec(await redis.cli("INFO", "server"))?.[1]}`);
  for (const [name, reason] of Object.entries(missing)) console.log(`Not here: ${name} (${reason})`);
  const versions = Object.fromEntries(peers.map(({ name, version }) => [name, version]));
  const report: Record<string, Record<string, Rates[]>> = {};
  for (const bytes of sizes) {
    const count = Math.min(jobs, Math.floor(MAX_BYTES / bytes));
    const compared = peers.filter(({ maxBytes = Infinity }) => bytes <= maxBytes);
    const cases = Object.fromEntries(
      compared.map((peer) => [peer.name, () => run(peer, { redis, postgres }, count, bytes)]),
    );
    const results = await inTurn(cases, rounds);
    report[String(bytes)] = results;
    const ours = results[compared[0]!.name]!;
    console.log(`\n### ${bytes.toLocaleString("en")} bytes, ${count.toLocaleString("en")} jobs\n`);
    printTable(
      ["system", "durability of a push", "push/s", "drain/s", "MB/s", "first row is faster", "CPU µs per job"],
      compared.map(({ name, version, durability }) => {
        const drain = spreadOf(results[name]!.map((one) => one.drain));
        const ratio = spreadOf(results[name]!.map((one, i) => ours[i]!.drain / one.drain));
        return [
          version === undefined ? name : `${name} ${version}`,
          durability,
          formatSpread(spreadOf(results[name]!.map((one) => one.push))),
          formatSpread(drain),
          formatNumber(drain.median * bytes / 1e6),
          `${formatNumber(ratio.median)} times`,
          processorTime(results[name]!),
        ];
      }),
    );
  }
  if (flags["json"]) {
    await Deno.writeTextFile(flags["json"], JSON.stringify({ machine, rounds, jobs, versions, report }, null, 2));
  }
} finally {
  await Deno.remove(folder, { recursive: true });
}

/** Formats the processor time per job: of the worker, and of its gateway. */
function processorTime(rates: readonly Rates[]): string {
  const median = (of: "cpu" | "server") => {
    const values = rates.flatMap((one) => one[of] ?? []);
    return values.length === 0 ? [] : [formatNumber(spreadOf(values).median)];
  };
  return [...median("cpu"), ...median("server")].join(" + ");
}

async function run(
  peer: Peer,
  { redis, postgres }: {
    readonly redis: { readonly url: string; cli(...args: string[]): Promise<string> };
    readonly postgres: Postgres;
  },
  count: number,
  bytes: number,
): Promise<Rates> {
  await redis.cli("FLUSHALL");
  const POSTGRES_URL = postgres.problem === undefined ? await postgres.empty() : "";
  const jobs = peer.slow === undefined ? count : Math.max(100, Math.round(count / peer.slow));
  const data = await Deno.makeTempDir({ dir: folder });
  const env = {
    REDIS_URL: redis.url,
    POSTGRES_URL,
    JOBS: `${jobs}`,
    BYTES: `${bytes}`,
    DATA: data,
    ROOT,
    RUBYOPT: "-W0",
  };
  const rates: Record<string, number> = {};
  for (const [program, ...args] of peer.commands(env)) {
    const { success, stdout, stderr } = await new Deno.Command(program!, { args, cwd: folder, env, stdin: "null" })
      .output();
    const text = new TextDecoder().decode(stdout);
    if (!success) throw new Error(`${peer.name}: ${new TextDecoder().decode(stderr)}`);
    for (const [, name, seconds] of text.matchAll(/^(push|drain) ([\d.e+-]+)$/gm)) {
      rates[name!] = jobs / Number(seconds);
    }
    for (const [, name, seconds] of text.matchAll(/^(cpu|server) ([\d.e+-]+)$/gm)) {
      rates[name!] = Number(seconds) / jobs * 1e6;
    }
  }
  await Deno.remove(data, { recursive: true });
  if (rates["push"] === undefined || rates["drain"] === undefined) throw new Error(`${peer.name} reported no times`);
  return { push: rates["push"], drain: rates["drain"], ...rates };
}
