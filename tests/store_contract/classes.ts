/**
 * What servers say of the classes they perform.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { type DeclaredClass, FORGOTTEN_AFTER_MS } from "../../src/store/port/classes.ts";
import type { Cases } from "./harness.ts";

const LOW: DeclaredClass = { name: "Low", options: '{"queue":"low"}' };
const ODD: DeclaredClass = { name: "__proto__", options: "{}" };

function sorted(classes: readonly DeclaredClass[]): DeclaredClass[] {
  return classes.toSorted((a, b) => a.name < b.name ? -1 : 1);
}

export const classes: Cases = {
  "what was declared is known, by name and all together": async (open) => {
    await using t = await open();
    assertEquals(await t.store.declaredClasses(), []);
    assertEquals(await t.store.declaredClasses(["Low"]), []);
    await t.store.declareClasses([LOW, ODD]);
    assertEquals(sorted(await t.store.declaredClasses()), [LOW, ODD]);
    assertEquals(await t.store.declaredClasses(["Low"]), [LOW]);
    assertEquals(sorted(await t.store.declaredClasses(["Nobody", "__proto__", "Low"])), [LOW, ODD]);
    assertEquals(await t.store.declaredClasses([]), []);
  },

  "what nobody has said for long is forgotten; what is said again is not": async (open) => {
    await using t = await open();
    await t.store.declareClasses([LOW, ODD]);
    t.advance(FORGOTTEN_AFTER_MS - 60_000);
    await t.store.declareClasses([LOW]);
    assertEquals(sorted(await t.store.declaredClasses()), [LOW, ODD]);
    t.advance(120_000);
    await t.store.declareClasses([]);
    assertEquals(await t.store.declaredClasses(), [LOW]);
  },

  "the last to declare a class is right, and says nothing of the others": async (open) => {
    await using t = await open();
    await t.store.declareClasses([LOW, ODD]);
    await t.store.declareClasses([{ ...LOW, options: '{"queue":"lower"}' }]);
    await t.store.declareClasses([]);
    assertEquals(sorted(await t.store.declaredClasses()), [{ ...LOW, options: '{"queue":"lower"}' }, ODD]);
  },
};
