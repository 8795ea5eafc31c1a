import { assertEquals } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { inParts } from "./in_parts.ts";

/** Returns the numbers of 1 to 500 that the conditions match, and the number of conditions. */
function named(ids: readonly number[]): { readonly found: number[]; readonly parts: number } {
  using database = new DatabaseSync(":memory:");
  database.exec(`CREATE TABLE one (id INTEGER PRIMARY KEY);
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) INSERT INTO one SELECT i FROM n`);
  const found: number[] = [];
  const parts = inParts(ids, "id");
  for (const { where, values } of parts) {
    for (const { id } of database.prepare(`SELECT id FROM one WHERE ${where}`).all(...values)) found.push(id as number);
  }
  return { found: found.sort((a, b) => a - b), parts: parts.length };
}

function numbers(from: number, to: number, step = 1): number[] {
  return Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, i) => from + i * step);
}

Deno.test("inParts merges consecutive numbers in any order", () => {
  assertEquals(named(numbers(1, 500)), { found: numbers(1, 500), parts: 1 });
  assertEquals(named(numbers(1, 500).reverse()), { found: numbers(1, 500), parts: 1 });
  assertEquals(named([...numbers(20, 40), ...numbers(1, 18)]), {
    found: [...numbers(1, 18), ...numbers(20, 40)],
    parts: 2,
  });
});

Deno.test("inParts matches exactly the given numbers, each once", () => {
  const lists = {
    none: [],
    one: [7],
    "some apart": [3, 5, 9],
    "some that follow each other": numbers(3, 7),
    "many apart": numbers(1, 399, 2),
    "both, mixed": [...numbers(300, 330), ...numbers(1, 199, 3), ...numbers(402, 409), 450],
  };
  for (const [name, ids] of Object.entries(lists)) {
    assertEquals(named(ids).found, ids.toSorted((a, b) => a - b), name);
  }
});

Deno.test("inParts ignores duplicates", () => {
  for (const ids of [[4], numbers(1, 20), numbers(1, 99, 2)]) {
    assertEquals([...new Set(named([...ids, ...ids]).found)], ids);
  }
});
