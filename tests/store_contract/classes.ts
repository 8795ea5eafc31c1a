/**
 * What servers say of the classes they perform.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import type { DeclaredClass } from "../../src/store/classes.ts";
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

  "the last to declare a class is right, and says nothing of the others": async (open) => {
    await using t = await open();
    await t.store.declareClasses([LOW, ODD]);
    await t.store.declareClasses([{ ...LOW, options: '{"queue":"lower"}' }]);
    await t.store.declareClasses([]);
    assertEquals(sorted(await t.store.declaredClasses()), [{ ...LOW, options: '{"queue":"lower"}' }, ODD]);
  },
};
