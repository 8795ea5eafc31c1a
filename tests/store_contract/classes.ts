/**
 * The options that workers declare for classes.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { DECLARATION_TTL_MS, type DeclaredClass } from "../../src/store/port/classes.ts";
import type { Cases } from "./harness.ts";
import { lapse, register, rescueFor } from "./jobs.ts";

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

  "a declaration ends with its worker if another one has the class: by its end, and by its rescue": async (open) => {
    for (const end of ["deregisters", "is rescued"]) {
      await using t = await open();
      const { store } = t;
      const [old, canary] = [await register(store, "old:1:a"), await register(store, "canary:1:a")];
      await store.classes.declare([LOW], old);
      t.advance(1_000);
      const other = { ...LOW, options: '{"queue":"lower"}' };
      const added = { name: "New one", options: '{"queue":"new"}' };
      await store.classes.declare([other, added], canary);
      // The same again isn't a later declaration, but comes back if the store has lost it.
      await store.classes.declare([LOW, ODD], old);
      assertEquals(sorted(await store.classes.read()), [other, added, ODD]);
      const rows = await store.classes.declarations();
      assertEquals(rows.filter(({ name }) => name === "Low").map(({ worker, body, kind }) => [kind, worker, body]), [
        ["class", canary, other.options],
        ["class", old, LOW.options],
      ]);
      if (end === "deregisters") await store.workers.deregister(canary);
      else {
        await lapse(t);
        await register(store, old);
        await rescueFor(store);
      }
      // No other worker has the new class: it keeps its options, for pushes while its workers are stopped.
      assertEquals(sorted(await store.classes.read()), [LOW, added, ODD]);
      assertEquals((await store.classes.declarations()).map(({ worker }) => worker), [old, old]);
      await store.workers.deregister(old);
      assertEquals([sorted(await store.classes.read()), await store.classes.declarations()], [[LOW, added, ODD], []]);
    }
  },
};
