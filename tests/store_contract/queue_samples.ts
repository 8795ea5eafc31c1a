/**
 * Samples of queues: their depth, and the age of their oldest jobs.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { MAX_SAMPLED_QUEUES, SAMPLE_WINDOWS, type SampleWindow } from "../../src/store/port/queue_samples.ts";
import type { Cases } from "./harness.ts";
import { HOUR_MS } from "./jobs.ts";

const WINDOWS = Object.keys(SAMPLE_WINDOWS) as SampleWindow[];

export const queueSamples: Cases = {
  "a step keeps the largest values of all recorders; a step without a sample has none": async (open) => {
    await using t = await open();
    const other = await t.another();
    for (const window of WINDOWS) assertEquals(await t.store.series.read("queues", window), []);
    await t.store.series.add("queues", []);
    await t.store.series.add("queues", [{ queue: "mail|é", size: 7, latencyMs: 1_500.4 }, {
      queue: "low",
      size: 0,
      latencyMs: 0,
    }]);
    await other.series.add("queues", [{ queue: "mail|é", size: 3, latencyMs: 9_000 }]);
    await t.store.series.add("queues", [{ queue: "mail|é", size: 5, latencyMs: 10 }]);
    for (const window of WINDOWS) {
      const [low, mail, ...more] = await t.store.series.read("queues", window);
      assertEquals([low!.queue, mail!.queue, more.length], ["low", "mail|é", 0]);
      assertEquals([mail!.sizes.length, mail!.latenciesMs.length], Array(2).fill(SAMPLE_WINDOWS[window].steps));
      const known = mail!.sizes.findIndex((size) => size !== undefined);
      assertEquals([mail!.sizes[known], mail!.latenciesMs[known], low!.sizes[known]], [7, 9_000, 0]);
      assertEquals(mail!.sizes.filter((size) => size !== undefined).length, 1);
    }
  },

  "a sample leaves each window in turn": async (open) => {
    await using t = await open();
    await t.store.series.add("queues", [{ queue: "mail", size: 7, latencyMs: 1 }]);
    const seen = async () => {
      const all = await Promise.all(WINDOWS.map((window) => t.store.series.read("queues", window)));
      return WINDOWS.filter((_, i) => all[i]!.length > 0).join(" ");
    };
    t.advance(HOUR_MS / 2);
    assertEquals(await seen(), "1h 24h 7d 30d");
    t.advance(2 * HOUR_MS);
    assertEquals(await seen(), "24h 7d 30d");
    t.advance(25 * HOUR_MS);
    assertEquals(await seen(), "7d 30d");
    t.advance(7 * 24 * HOUR_MS);
    assertEquals(await seen(), "30d");
    await t.store.series.add("queues", [{ queue: "mail", size: 1, latencyMs: 1 }]);
    assertEquals((await t.store.series.read("queues", "30d"))[0]!.sizes.filter((size) => size !== undefined), [7, 1]);
  },

  "samples in the future, after the clock was set back, aren't read": async (open) => {
    await using t = await open();
    await t.store.series.add("queues", [{ queue: "mail", size: 7, latencyMs: 1 }]);
    t.advance(-2 * HOUR_MS);
    await t.store.series.add("queues", [{ queue: "mail", size: 3, latencyMs: 1 }]);
    for (const window of WINDOWS) {
      const [mail] = await t.store.series.read("queues", window);
      assertEquals(mail!.sizes.length, SAMPLE_WINDOWS[window].steps, window);
      assertEquals(mail!.sizes.filter((size) => size !== undefined), [3], window);
    }
  },

  "keeps the samples of the queues with the most jobs": async (open) => {
    await using t = await open();
    await t.store.series.add(
      "queues",
      Array.from({ length: MAX_SAMPLED_QUEUES + 20 }, (_, i) => ({ queue: `q${i}`, size: i, latencyMs: 0 })),
    );
    const kept = await t.store.series.read("queues", "1h");
    assertEquals([kept.length, kept.some(({ queue }) => queue === "q19")], [MAX_SAMPLED_QUEUES, false]);
  },
};
