import { assert, assertEquals, assertRejects } from "@std/assert";
import { FakeClock } from "../../../tests/support/clock.ts";
import { KeptLog } from "../../../tests/support/log.ts";
import { Snooze } from "../../job/errors.ts";
import { MAX_FAILURES, MAX_OPEN_MS, MIN_OPEN_MS } from "./circuit.ts";
import { Host, type HostEnd } from "./host.ts";

function makeHost(limit = 10) {
  const clock = new FakeClock();
  const log = new KeptLog();
  const host = new Host({ name: "app:1", limit, clock, log, random: () => 0 });
  const call = (end: HostEnd) => host.run((ended) => Promise.resolve(ended(end)));
  const fail = async (times: number) => {
    for (let i = 0; i < times; i++) await call({ isAlive: false, error: "refused" });
  };
  const snoozed = async () => (await assertRejects(() => call({ isAlive: true }), Snooze)).delayMs;
  return { clock, log, host, call, fail, snoozed };
}

Deno.test("opens a circuit after failures in a row, and snoozes jobs until it is half open", async () => {
  const { clock, log, host, call, fail, snoozed } = makeHost();
  await fail(MAX_FAILURES - 1);
  await call({ isAlive: true });
  await fail(MAX_FAILURES - 1);
  await call({});
  assertEquals(host.openCircuit, undefined, "an answer in between, and a request without a verdict");
  host.serve("Call");
  await fail(1);
  assertEquals(host.openCircuit, {
    host: "app:1",
    state: "open",
    failures: MAX_FAILURES,
    since: clock.now(),
    error: "refused",
    classes: ["Call"],
  });
  assertEquals(await snoozed(), MIN_OPEN_MS);
  await clock.advance(MIN_OPEN_MS - 1);
  assertEquals(await snoozed(), 1);
  await clock.advance(1);
  assertEquals(host.openCircuit?.state, "halfOpen");
  await call({ isAlive: true });
  assertEquals(host.openCircuit, undefined);
  assertEquals(log.lines.map(({ message }) => message.split(":")[0]), ["Circuit opened", "Circuit closed"]);
});

Deno.test("sends one probe when half open, and stays open for twice as long if that fails", async () => {
  const { clock, log, host, call, fail, snoozed } = makeHost();
  await fail(MAX_FAILURES);
  for (let openMs = MIN_OPEN_MS; openMs < 2 * MAX_OPEN_MS; openMs *= 2) {
    assertEquals(await snoozed(), Math.min(openMs, MAX_OPEN_MS));
    await clock.advance(Math.min(openMs, MAX_OPEN_MS));
    const probe = Promise.withResolvers<void>();
    const probing = host.run(async (ended) => {
      await probe.promise;
      ended({ isAlive: false, error: "still refused" });
    });
    assertEquals(await snoozed(), 1_000, "while the probe runs");
    probe.resolve();
    await probing;
    assertEquals(host.openCircuit?.state, "open");
  }
  assertEquals(log.lines.filter(({ level }) => level === "warn").length, 1);
  await clock.advance(MAX_OPEN_MS);
  await call({}); // cancelled: another probe follows
  await call({ isAlive: true });
  assertEquals(host.openCircuit, undefined);
});

Deno.test("ignores requests that were sent before the circuit opened", async () => {
  const { host, fail, clock } = makeHost();
  const old = Promise.withResolvers<void>();
  const running = [true, false].map((isAlive) =>
    host.run(async (ended) => {
      await old.promise;
      ended({ isAlive });
    })
  );
  await fail(MAX_FAILURES);
  old.resolve();
  await Promise.all(running);
  assertEquals([host.openCircuit?.state, host.openCircuit?.failures], ["open", MAX_FAILURES]);
  await clock.advance(MIN_OPEN_MS);
  assertEquals(host.openCircuit?.state, "halfOpen");
});

Deno.test("snoozes jobs above the limit one after the other, as fast as the host answers", async () => {
  const { host, clock, snoozed } = makeHost(2);
  const ends: (() => void)[] = [];
  const running = [1, 2].map(() => host.run(() => new Promise<void>((resolve) => ends.push(resolve))));
  assertEquals([await snoozed(), await snoozed(), await snoozed()], [500, 550, 600]);
  for (let i = 0; i < 1_300; i++) await snoozed();
  assertEquals(await snoozed(), 60_000);
  await clock.advance(100);
  for (const end of ends) end();
  await Promise.all(running);
  await host.run(() => Promise.resolve());
  assert(host.openCircuit === undefined);
});
