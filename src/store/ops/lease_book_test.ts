import { assert, assertEquals, assertRejects } from "@std/assert";
import { LeaseBook } from "./lease_book.ts";

const WORKER = "host:1:a";
const A = { token: "a" };
const B = { token: "b" };

Deno.test("a take whose reply was lost is collected by the next one", () => {
  const book = new LeaseBook();
  const lost = book.beginTake(WORKER);
  assertEquals(book.hasLostTakes(WORKER), false);
  book.failTake(WORKER, lost, true);
  assertEquals(book.hasLostTakes(WORKER), true);
  const next = book.beginTake(WORKER);
  assertEquals(next.lost, [lost.name]);
  book.endTake(WORKER, next, [A]);
  assertEquals([...book.held(WORKER)], ["a"]);
  assertEquals(book.beginTake(WORKER).lost, []);
});

Deno.test("two takes at once don't collect the same lost take", () => {
  const book = new LeaseBook();
  const lost = book.beginTake(WORKER);
  book.failTake(WORKER, lost, true);
  const first = book.beginTake(WORKER);
  assertEquals(book.beginTake(WORKER).lost, []);
  book.failTake(WORKER, first, false);
  assertEquals(book.beginTake(WORKER).lost, [lost.name]);
});

Deno.test("a take that Redis rejected leaves nothing to collect", () => {
  const book = new LeaseBook();
  book.failTake(WORKER, book.beginTake(WORKER), false);
  assertEquals(book.beginTake(WORKER).lost, []);
});

Deno.test("a lease that a lost settlement ended isn't reported as lost, another one is", () => {
  const book = new LeaseBook();
  book.endTake(WORKER, book.beginTake(WORKER), [A, B]);
  book.failSettlement([A]);
  assertEquals(book.endSettlement(WORKER, [A, B], ["a", "b"]), ["b"]);
  assertEquals([...book.held(WORKER)], []);
  assertEquals(book.endSettlement(WORKER, [A], ["a"]), ["a"]);
});

Deno.test("leases are reconciled once after each loss of the connection, and again after a failure", async () => {
  const book = new LeaseBook();
  let calls = 0;
  const count = () => Promise.resolve(void calls++);
  await book.reconcile(WORKER, 0, count);
  await book.reconcile(WORKER, 0, count);
  assertEquals(calls, 0);
  await assertRejects(() => book.reconcile(WORKER, 1, () => Promise.reject(new Error("down"))), Error, "down");
  await book.reconcile(WORKER, 1, count);
  await book.reconcile(WORKER, 1, count);
  assertEquals(calls, 1);
});

Deno.test("reconciliation keeps the leases of takes that are unanswered", async () => {
  const book = new LeaseBook();
  book.endTake(WORKER, book.beginTake(WORKER), [A]);
  const pending = book.beginTake(WORKER);
  await book.reconcile(WORKER, 0, () => Promise.resolve());
  await book.reconcile(WORKER, 1, ({ unanswered, held, last }) => {
    assertEquals(unanswered, [pending.name]);
    assertEquals(last, pending.name);
    assert(book.beginTake(WORKER).name > last);
    assertEquals([...held], ["a"]);
    return Promise.resolve();
  });
});

Deno.test("held tokens are compared with the store once they have doubled", () => {
  const book = new LeaseBook();
  const hold = (from: number, to: number) => {
    const leases = Array.from({ length: to - from }, (_, i) => ({ token: `t${from + i}` }));
    book.endTake(WORKER, book.beginTake(WORKER), leases);
  };
  hold(0, 1_999);
  assertEquals(book.tokensToCheck(WORKER), []);
  hold(1_999, 2_000);
  assertEquals(book.tokensToCheck(WORKER).length, 2_000);
  assertEquals(book.tokensToCheck(WORKER), []);
  hold(2_000, 4_000);
  const tokens = book.tokensToCheck(WORKER);
  assertEquals(tokens.length, 4_000);
  book.drop(WORKER, tokens);
  assertEquals(book.held(WORKER).size, 0);
});
