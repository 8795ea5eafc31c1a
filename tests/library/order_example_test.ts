/** The order of `examples/order.js`, as docs/guides/workflows.md tests it: its steps and its failures. */
import { assertEquals } from "@std/assert";
import { Order, shop } from "../../examples/order.js";
import { testJob } from "../../src/testing/mod.ts";

const order = () => testJob(Order as (ctx: unknown, id: number) => Promise<string>, [42]);

Deno.test("an order is charged, waits for two days and for a person, ships, and asks a week later", async () => {
  const test = order();
  assertEquals(await test.run(), "asleep");
  assertEquals(test.ran, ["charge", "reserve", "mail"]);
  await test.advance("2d");
  assertEquals(test.steps.at(-1)?.state, "waiting");
  await test.signal("order:42", { approved: true });
  await test.finishChild("invoice", "invoice 42");
  assertEquals(await test.advance("7d"), "succeeded");
  assertEquals(test.result, "done with invoice 42");
  assertEquals(test.ran, ["charge", "reserve", "mail", "survey"]);
});

Deno.test("an order without an answer is refunded after its time, once", async () => {
  const test = order();
  await test.run();
  await test.advance("9d");
  assertEquals([test.state, test.result], ["succeeded", "refunded: no answer"]);
  assertEquals(test.ran.filter((name) => name === "refund"), ["refund"]);
});

Deno.test("an order that cannot be reserved is refunded after three attempts, also if the worker dies at that moment", async () => {
  const { reserve } = shop;
  let attempts = 0;
  shop.reserve = () => {
    attempts++;
    throw new Error("out of stock");
  };
  try {
    const test = order();
    await test.run();
    await test.advance("1m");
    assertEquals([test.result, attempts], ["refunded: out of stock", 3]);
    // The worker died after the refund and before the end was stored.
    await test.crash();
    assertEquals([test.result, attempts], ["refunded: out of stock", 3]);
    assertEquals(test.ran.filter((name) => name === "refund"), ["refund"]);
  } finally {
    shop.reserve = reserve;
  }
});

Deno.test("a crash between a charge and its record charges again, with the same key", async () => {
  const { charge } = shop;
  const keys: string[] = [];
  shop.charge = (id: number, options: { idempotencyKey: string }) => {
    keys.push(options.idempotencyKey);
    return charge(id, options);
  };
  try {
    const test = order();
    await test.run();
    await test.crash("charge");
    assertEquals(keys, [`${test.jid}:charge`, `${test.jid}:charge`]);
  } finally {
    shop.charge = charge;
  }
});
