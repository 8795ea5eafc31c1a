import { assertEquals } from "@std/assert";
import type { Entry } from "../../store/port/entries.ts";
import { ListBudget, MAX_LIST_CHARS } from "./list_budget.ts";

Deno.test("a list shows payloads whole up to a length in total, and of later ones all but the large fields", () => {
  const entry = (args: string): Entry => ({
    ref: "r",
    place: { in: "dead" },
    payload: `{"class":"A","args":["${args}"],"jid":"j"}`,
  });
  const bare = entry("").payload.length;
  const budget = new ListBudget();
  const half = entry("x".repeat(MAX_LIST_CHARS / 2 - bare));
  assertEquals(budget.admit(half), half);
  const larger = entry("x".repeat(MAX_LIST_CHARS / 2 - bare + 1));
  assertEquals(JSON.parse(budget.admit(larger).payload), {
    ...{ class: "A", args: [`(${MAX_LIST_CHARS / 2 - bare + 5} characters)`], jid: "j" },
  });
  assertEquals(budget.admit(half), half, "one that was abridged takes no part of the budget");
  assertEquals(budget.admit(entry("small")), entry("small"));
});
