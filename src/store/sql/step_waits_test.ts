import { DatabaseSync } from "node:sqlite";
import { assertEquals } from "@std/assert";
import schema from "../sqlite/schema.sql" with { type: "text" };
import { readWaits } from "./step_waits.ts";

Deno.test("reads the jobs of a page by their jids, not by reading all scheduled jobs", () => {
  using database = new DatabaseSync(":memory:");
  database.exec(schema);
  for (const request of [{ limit: 5 }, { limit: 5, cursor: "1.1" }, { limit: 5, key: "k" }]) {
    const { value } = readWaits(request).next();
    const { text, values } = value as { readonly text: string; readonly values: readonly (string | number)[] };
    const plan = database.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...values) as { detail: string }[];
    const steps = plan.map(({ detail }) => detail);
    assertEquals(steps.filter((step) => /^SCAN|TEMP B-TREE|\(place=\?\)$/.test(step)), [], JSON.stringify(request));
    assertEquals(steps.some((step) => /^SEARCH job USING .*\(jid=\?\)/.test(step)), true, steps.join("; "));
  }
});
