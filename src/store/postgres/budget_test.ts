import { assertEquals } from "@std/assert";
import { budgetWithin, DEFAULT_BUDGET } from "./budget.ts";

Deno.test("the clients of a process stay within its limit, with one connection each at least", () => {
  for (let limit = 2; limit < 30; limit++) {
    const { statements, transactions, listens } = budgetWithin(limit);
    assertEquals(2 * (statements + transactions + Number(listens)) <= limit, true, `${limit}`);
  }
  assertEquals(budgetWithin(1), { statements: 0, transactions: 1, listens: false });
  assertEquals(budgetWithin(3), { statements: 0, transactions: 1, listens: false });
  assertEquals(budgetWithin(4), { statements: 1, transactions: 1, listens: false });
  assertEquals(budgetWithin(6), { statements: 1, transactions: 1, listens: true });
  assertEquals(budgetWithin(18), DEFAULT_BUDGET);
});
