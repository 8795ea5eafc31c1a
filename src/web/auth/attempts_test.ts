import { assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/clock.ts";
import { Attempts } from "./attempts.ts";

const ANN = { address: "10.0.0.1", name: "ann" };

Deno.test("delays logins after five failures, twice as long after each further one, up to 15 minutes", async () => {
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
  assertEquals(attempts.waitMs({ ...ANN, address: "10.0.0.2" }), 30_000, "other addresses wait little for the name");
  assertEquals(attempts.waitMs({ address: "10.0.0.2", name: "bob" }), 0);
  await clock.advance(15 * 60_000 + 1);
  assertEquals(attempts.waitMs(ANN), 0);
});

Deno.test("forgets the failures of an address after a successful login", () => {
  const attempts = new Attempts(new FakeClock());
  for (let i = 0; i < 6; i++) attempts.failed(ANN);
  attempts.succeeded(ANN);
  assertEquals(attempts.waitMs(ANN), 0);
});

Deno.test("forgets the oldest of more than 10,000 addresses", () => {
  const attempts = new Attempts(new FakeClock());
  for (let i = 0; i < 5; i++) attempts.failed(ANN);
  for (let i = 0; i < 10_000; i++) attempts.failed({ address: `a${i}`, name: `n${i}` });
  assertEquals(attempts.waitMs(ANN), 0);
});

Deno.test("counts the addresses of one IPv6 network as one, in each notation", () => {
  const attempts = new Attempts(new FakeClock());
  for (let i = 0; i < 5; i++) attempts.failed({ address: `2001:db8:0:7::${i}`, name: `n${i}` });
  const waits = (address: string) => attempts.waitMs({ address, name: "someone" }) > 0;
  for (const address of ["2001:db8:0:7::99", "2001:DB8::7:1:2:3:4", "2001:db8:0:7:0:0:0:1", "2001:db8:0:7:a:b:c:d"]) {
    assertEquals(waits(address), true, address);
  }
  for (const address of ["2001:db8:0:8::1", "2001:db8::7", "10.0.0.1", "::1", "no address:"]) {
    assertEquals(waits(address), false, address);
  }
});

Deno.test("keeps at most 64 characters of an address in memory", () => {
  const attempts = new Attempts(new FakeClock());
  for (let i = 0; i < 5; i++) attempts.failed({ address: `${"a".repeat(64)}${i}`, name: "ann" });
  assertEquals(attempts.waitMs({ address: "a".repeat(64), name: "bob" }), 1_000);
});

Deno.test("failures of a name don't delay an address whose name isn't known yet", () => {
  const attempts = new Attempts(new FakeClock());
  for (let i = 0; i < 30; i++) attempts.failed({ address: `10.0.0.${i}`, name: "" });
  assertEquals(attempts.waitMs({ address: "10.0.1.1" }), 0);
  for (let i = 0; i < 5; i++) attempts.failed({ address: "10.0.1.1", name: "" });
  assertEquals(attempts.waitMs({ address: "10.0.1.1" }), 1_000);
});
