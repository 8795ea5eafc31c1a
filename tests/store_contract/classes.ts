/**
 * The options that workers declare for classes.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { DECLARATION_TTL_MS, type DeclaredClass } from "../../src/store/port/classes.ts";
import type { Cases } from "./harness.ts";

const LOW: DeclaredClass = { name: "Low", options: '{"queue":"low"}' };
const ODD: DeclaredClass = { name: "__proto__", options: "{}" };

function sorted(classes: readonly DeclaredClass[]): DeclaredClass[] {
  return classes.toSorted((a, b) => a.name < b.name ? -1 : 1);
}

export const classes: Cases = {
  "returns declared options by name, or all": async (open) => {
    await using t = await open();
    assertEquals(await t.store.classes.read(), []);
    assertEquals(await t.store.classes.read(["Low"]), []);
    await t.store.classes.declare([LOW, ODD]);
    assertEquals(sorted(await t.store.classes.read()), [LOW, ODD]);
    assertEquals(await t.store.classes.read(["Low"]), [LOW]);
    assertEquals(sorted(await t.store.classes.read(["Unknown", "__proto__", "Low"])), [LOW, ODD]);
    assertEquals(await t.store.classes.read([]), []);
  },

  "forgets classes that no worker has declared for a while, not those declared again": async (open) => {
    await using t = await open();
    await t.store.classes.declare([LOW, ODD]);
    t.advance(DECLARATION_TTL_MS - 60_000);
    await t.store.classes.declare([LOW]);
    assertEquals(sorted(await t.store.classes.read()), [LOW, ODD]);
    t.advance(120_000);
    await t.store.classes.declare([]);
    assertEquals(await t.store.classes.read(), [LOW]);
  },

  "the last declaration of a class counts, and doesn't affect other classes": async (open) => {
    await using t = await open();
    await t.store.classes.declare([LOW, ODD]);
    await t.store.classes.declare([{ ...LOW, options: '{"queue":"lower"}' }]);
    await t.store.classes.declare([]);
    assertEquals(sorted(await t.store.classes.read()), [{ ...LOW, options: '{"queue":"lower"}' }, ODD]);
  },
};
