/**
 * Sidekiq's Metrics page finds the classes of jobs. Debian's Sidekiq has no such page, so a small reader in Ruby replaces it.
 * It reads the keys and fields that `lib/sidekiq/metrics/query.rb` reads, of 8.0 (`ROLLUPS`, `top_jobs`, `for_job`)
 * and of 7.3 (`top_jobs`, `for_job`), with the histograms of `lib/sidekiq/metrics/shared.rb` (`Histogram#fetch`). Ruby formats
 * the names, with the same patterns of `strftime`.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { type Clock, systemClock } from "../../src/clock.ts";
import { RUN_BOUNDS_MS, runBucket } from "../../src/store/port/metrics.ts";
import { openStore } from "../../src/store/open.ts";
import { Bench } from "../support/bench.ts";
import { JobsProcess } from "../support/process.ts";
import { startRedis } from "../support/redis.ts";
import { ruby } from "./ruby.ts";

const HANDLERS = new URL("./handlers.js", import.meta.url).pathname;

/** The data that the page of a version shows for an hour and, if it has them, for ten minutes. */
interface Seen {
  readonly totals: Record<string, Record<string, number>>;
  readonly coarse: Record<string, Record<string, number>>;
  /** The buckets of one class. */
  readonly histogram: number[];
  /** Seconds. */
  readonly ttls: Record<string, number>;
}

const READER = `
  version, klass, at = args
  now = Time.at(at).utc
  fine = version == 8 ? ->(t) { t.strftime("j|%y%m%d|%-H:%M") } : ->(t) { "j|#{t.strftime("%Y%m%d")}|#{t.hour}:#{t.min}" }
  coarse = ->(t) { t.strftime("j|%y%m%d|%-H:") + (t.min < 10 ? "0" : t.min.to_s[0]) }
  gram = version == 8 ? ->(t) { "h|#{klass}-#{t.strftime("%-d-%-H:%-M")}" } : ->(t) { "#{klass}-#{t.strftime("%d-%H:%-M")}" }
  sum = ->(conn, keys) {
    keys.each_with_object(Hash.new { |h, k| h[k] = Hash.new(0) }) { |key, sums|
      conn.hgetall(key).each { |field, value| kls, metric = field.split("|"); sums[kls][metric] += value.to_i }
    }
  }
  get = (0..25).flat_map { |i| ["GET", "u16", "##{i}"] }
  Sidekiq.redis do |conn|
    minutes = (0...60).map { |i| now - i * 60 }
    { totals: sum.call(conn, minutes.map(&fine)),
      coarse: version == 8 ? sum.call(conn, [coarse.call(now)]) : {},
      histogram: minutes.map { |t| conn.call(["BITFIELD", gram.call(t), *get]) }.transpose.map(&:sum),
      ttls: { fine: conn.ttl(fine.call(now)), coarse: conn.ttl(coarse.call(now)), histogram: conn.ttl(gram.call(now)) } }
  end
`;

function histogramOf(...runs: number[]): number[] {
  const histogram = new Array(RUN_BOUNDS_MS.length + 1).fill(0);
  for (const ms of runs) histogram[runBucket(ms)]++;
  return histogram;
}

/** The system clock, set to another time. */
function clockFrom(at: number): Clock {
  const shift = at - systemClock.now();
  return { ...systemClock, now: () => systemClock.now() + shift };
}

const SAID = { class: "Billing::InvoiceJob", processed: 5, failed: 2, workedMs: 400_035 };

for (const wire of [7, 8] as const) {
  Deno.test(`Sidekiq's metrics queries find the class metrics of jobs, with either format of times (sidekiqWire ${wire})`, async () => {
    const histogram = histogramOf(10, 25, 400_000);
    for (
      const at of [
        Date.UTC(2026, 2, 5, 8, 4, 30),
        Date.UTC(2026, 10, 21, 13, 45, 2),
        Date.UTC(2027, 0, 1, 0, 0, 1),
        Date.UTC(2026, 11, 31, 23, 59, 30),
      ]
    ) {
      await using redis = await startRedis();
      await using store = await openStore(redis.url, { clock: clockFrom(at), sidekiqWire: wire });
      await store.series.add("classes", [{ ...SAID, histogram }, {
        ...SAID,
        class: "All::Failed",
        workedMs: 0,
        processed: 2,
        histogram: histogramOf(),
      }]);
      for (const version of [7, 8]) {
        const seen = await ruby<Seen>(redis.url, READER, version, SAID.class, at / 1_000);
        if (version === 7 && wire === 8) {
          assertEquals([seen.totals, seen.histogram.some((count) => count > 0)], [{}, false]);
          continue;
        }
        const totals = {
          "Billing::InvoiceJob": { p: 5, f: 2, ms: 400_035 },
          "All::Failed": { p: 2, f: 2, ms: 0 },
        };
        assertEquals(seen.totals, totals);
        assertEquals(seen.coarse, version === 8 ? totals : {});
        assertEquals(seen.histogram, histogram);
        const hours = Object.fromEntries(Object.entries(seen.ttls).map(([name, s]) => [name, Math.round(s / 3_600)]));
        assertEquals(hours, { fine: 8, coarse: 72, histogram: 8 });
      }
    }
  });
}

Deno.test("class metrics leave Sidekiq's own fields unchanged, accept any class name, and keep a full counter full", async () => {
  await using redis = await startRedis();
  const at = Date.UTC(2026, 2, 1, 1, 1, 1);
  await using store = await openStore(redis.url, { clock: clockFrom(at) });
  await redis.cli("LPUSH", "h|Odd-1-1:1", "a list");
  const names = ["queue:default", "a|p", "Odd", "é", "x\ny"];
  await store.series.add("classes", names.map((name) => ({ ...SAID, class: name, histogram: histogramOf(10) })));
  const keys = (await redis.cli("KEYS", "*")).split("\n").filter((key) => key.startsWith("queue:"));
  assertEquals(keys, [], "no key of another's name");
  const many = { ...SAID, processed: 60_000, failed: 0, histogram: [60_000, ...histogramOf().slice(1)] };
  await store.series.add("classes", [many]);
  await store.series.add("classes", [many]);
  const seen = await ruby<Seen>(redis.url, READER, 8, SAID.class, at / 1_000);
  assertEquals(seen.totals.é!.p, 5);
  assertEquals(seen.histogram[0], 65_535);
  assertEquals((await store.series.read("classes", "8h"))[0]!.histogram[0], 120_000);
});

Deno.test("the jobs and failures of a worker are on Sidekiq's page when it has ended", async () => {
  await using redis = await startRedis();
  await using bench = await Bench.open(redis.url);
  {
    await using server = new JobsProcess({ store: redis.url, args: [HANDLERS, "--burst"] });
    for (let i = 0; i < 3; i++) await bench.push("Note", [bench.notes]);
    await bench.push("Fail", ["no"], { retry: false });
    assertEquals((await server.status()).code, 0);
  }
  const seen = await ruby<Seen>(redis.url, READER, 8, "Note", Date.now() / 1_000);
  const { Note, Fail } = seen.totals;
  assertEquals([Note!.p, Note!.f ?? 0, Fail], [3, 0, { p: 1, f: 1, ms: 0 }]);
  assertEquals(seen.histogram.reduce((sum, count) => sum + count, 0), 3);
});
