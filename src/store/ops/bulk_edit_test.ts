import { assertEquals, assertRejects } from "@std/assert";
import { changeAll } from "./bulk_edit.ts";

/** Steps of two jobs each; the third fails. */
async function* steps(): AsyncGenerator<number> {
  yield await Promise.resolve(2);
  yield 2;
  throw new Error("disk full");
}

/** What is written down in the order in which it is. */
async function written(change: Omit<Parameters<typeof changeAll>[0], "writeDown" | "total">) {
  const notes: unknown[] = [];
  const writeDown = ({ count, outcome }: { count: number; outcome?: string }) => {
    notes.push([count, outcome]);
    return Promise.resolve();
  };
  const result = await changeAll({ ...change, total: 9, writeDown }).catch((error: Error) => error.message);
  return [...notes, result];
}

Deno.test("what concerns many is written down before it begins, and how far it came, however it ends", async () => {
  async function* whole() {
    yield* [await Promise.resolve(5), 4];
  }
  assertEquals(await written({ steps: whole() }), [[9, "begun"], [9, undefined], { changed: 9, interrupted: false }]);
  assertEquals(await written({ steps: steps() }), [[9, "begun"], [4, "ended early: disk full"], "disk full"]);
});

Deno.test("it stops between two steps, and before the first", async () => {
  const stop = new AbortController();
  const interrupted = await written({ steps: steps(), signal: stop.signal, progress: () => stop.abort() });
  assertEquals(interrupted, [[9, "begun"], [2, "interrupted"], { changed: 2, interrupted: true }]);
  const none = await written({ steps: steps(), signal: stop.signal });
  assertEquals(none, [[9, "begun"], [0, "interrupted"], { changed: 0, interrupted: true }]);
});

Deno.test("what progress throws ends it, and the steps", async () => {
  let ended = false;
  async function* endless() {
    try {
      for (;;) yield await Promise.resolve(1);
    } finally {
      ended = true;
    }
  }
  const progress = () => Promise.reject(new Error("The dashboard stops"));
  await assertRejects(() => changeAll({ total: 9, steps: endless(), progress, writeDown: () => Promise.resolve() }));
  assertEquals(ended, true);
});
