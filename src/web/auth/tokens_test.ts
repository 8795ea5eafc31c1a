import { assert, assertEquals, assertRejects } from "@std/assert";
import { FakeClock } from "../../../tests/support/clock.ts";
import { HttpError } from "../http/body.ts";
import { TokenUses } from "./tokens.ts";

Deno.test("a token may send ten seconds' worth of its rate at once, and then its rate", async () => {
  const clock = new FakeClock();
  const uses = new TokenUses(clock, 2);
  const burst = () => Array.from({ length: 20 }, () => uses.use("a"));
  assertEquals(burst(), Array(20).fill(0));
  assertEquals(uses.use("a"), 500);
  assertEquals(uses.use("b"), 0, "each token has its rate");
  await clock.advance(499);
  assert(uses.use("a") > 0);
  await clock.advance(1);
  for (let i = 0; i < 10; i++) {
    assertEquals([uses.use("a"), uses.use("a")], [0, 500]);
    await clock.advance(500);
  }
  await clock.advance(3_600_000);
  assertEquals([...burst(), uses.use("a")], [...Array(20).fill(0), 500]);
});

Deno.test("a list of jobs counts as many requests, for which the next one waits", async () => {
  const clock = new FakeClock();
  const uses = new TokenUses(clock, 2);
  uses.use("a");
  uses.spend("a", 28);
  // 29 of 20 were used.
  assertEquals(uses.use("a"), 5_000);
  await clock.advance(5_000);
  assertEquals([uses.use("a"), uses.use("a")], [0, 500]);
});

Deno.test("without a rate every request is served, and the last use is known", async () => {
  const clock = new FakeClock();
  const uses = new TokenUses(clock, 0);
  assertEquals(uses.lastUsed("a"), undefined);
  for (let i = 0; i < 1_000; i++) assertEquals(uses.use("a"), 0);
  uses.spend("a", 1_000_000);
  await clock.advance(1_000);
  assertEquals(uses.lastUsed("a"), clock.now() - 1_000);
  assertEquals(uses.use("a"), 0);
  assertEquals(uses.lastUsed("a"), clock.now());
});

Deno.test("a bounded number of requests waits for results, and each gives its place back however it ends", async () => {
  const uses = new TokenUses(new FakeClock(), 0);
  const ends = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const waits = ends.map(({ promise }) => uses.waiting(2, () => promise));
  assertEquals((await assertRejects(() => uses.waiting(2, () => Promise.resolve()), HttpError)).status, 503);
  ends[0]!.reject(new Error("gone"));
  await assertRejects(() => waits[0]!, Error, "gone");
  await uses.waiting(2, () => Promise.resolve());
  ends[1]!.resolve();
  await waits[1];
  await Promise.all([1, 2].map(() => uses.waiting(2, () => Promise.resolve())));
});
