import { assertEquals, assertRejects } from "@std/assert";
import { changeAll } from "./bulk_edit.ts";

/** Two steps of two jobs each; the third step fails. */
async function* steps(): AsyncGenerator<number> {
  yield await Promise.resolve(2);
  yield 2;
  throw new Error("disk full");
}

/** Returns the recorded events in order, and the result or the error's message. */
async function recorded(change: Omit<Parameters<typeof changeAll>[0], "record" | "total">) {
  const notes: unknown[] = [];
  const record = ({ count, outcome }: { count: number; outcome?: string }) => {
    notes.push([count, outcome]);
    return Promise.resolve();
  };
  const result = await changeAll({ ...change, total: 9, record }).catch((error: Error) => error.message);
  return [...notes, result];
}

Deno.test("changeAll records the start, and the number of changed jobs at the end or after an error", async () => {
  async function* whole() {
    yield* [await Promise.resolve(5), 4];
  }
  assertEquals(await recorded({ steps: whole() }), [[9, "begun"], [9, undefined], { changed: 9, interrupted: false }]);
  assertEquals(await recorded({ steps: steps() }), [[9, "begun"], [4, "ended early: disk full"], "disk full"]);
});

Deno.test("changeAll stops between two steps, and before the first", async () => {
  const stop = new AbortController();
  const interrupted = await recorded({ steps: steps(), signal: stop.signal, progress: () => stop.abort() });
  assertEquals(interrupted, [[9, "begun"], [2, "interrupted"], { changed: 2, interrupted: true }]);
  const none = await recorded({ steps: steps(), signal: stop.signal });
  assertEquals(none, [[9, "begun"], [0, "interrupted"], { changed: 0, interrupted: true }]);
});

Deno.test("an error of progress ends changeAll and the steps", async () => {
  let ended = false;
  async function* endless() {
    try {
      for (;;) yield await Promise.resolve(1);
    } finally {
      ended = true;
    }
  }
  const progress = () => Promise.reject(new Error("The dashboard stops"));
  await assertRejects(() => changeAll({ total: 9, steps: endless(), progress, record: () => Promise.resolve() }));
  assertEquals(ended, true);
});
