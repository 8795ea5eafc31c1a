import { assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/clock.ts";
import { Attempts } from "./attempts.ts";

const ANN = { address: "10.0.0.1", name: "ann" };

Deno.test("Five failures are free; then each doubles the wait, up to a quarter of an hour", async () => {
  const clock = new FakeClock();
  const attempts = new Attempts(clock);
  for (let i = 0; i < 5; i++) {
    assertEquals(attempts.waitMs(ANN), 0);
    attempts.failed(ANN);
  }
  assertEquals(attempts.waitMs(ANN), 1_000);
  await clock.advance(1_000);
  assertEquals(attempts.waitMs(ANN), 0);
  attempts.failed(ANN);
  assertEquals(attempts.waitMs(ANN), 2_000);
  for (let i = 0; i < 20; i++) attempts.failed(ANN);
  assertEquals(attempts.waitMs(ANN), 15 * 60_000);
  assertEquals(attempts.waitMs({ ...ANN, address: "10.0.0.2" }), 30_000, "whoever else knows the name waits little");
  assertEquals(attempts.waitMs({ address: "10.0.0.2", name: "bob" }), 0);
  await clock.advance(15 * 60_000 + 1);
  assertEquals(attempts.waitMs(ANN), 0);
});

Deno.test("A success lets the address start anew", () => {
  const attempts = new Attempts(new FakeClock());
  for (let i = 0; i < 6; i++) attempts.failed(ANN);
  attempts.succeeded(ANN);
  assertEquals(attempts.waitMs(ANN), 0);
});

Deno.test("Many addresses fill no memory: the oldest are forgotten", () => {
  const attempts = new Attempts(new FakeClock());
  for (let i = 0; i < 5; i++) attempts.failed(ANN);
  for (let i = 0; i < 10_000; i++) attempts.failed({ address: `a${i}`, name: `n${i}` });
  assertEquals(attempts.waitMs(ANN), 0);
});
