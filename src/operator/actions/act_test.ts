import { assertEquals, assertRejects } from "@std/assert";
import { Client } from "../../client/client.ts";
import { systemClock } from "../../clock.ts";
import { openStore } from "../../store/open.ts";
import { object } from "../shapes/shape.ts";
import { integer } from "../shapes/values.ts";
import { act } from "./act.ts";
import { action, type Following, Refused } from "./action.ts";
import { editJobs } from "./jobs.ts";

const AUTHOR = { user: "ann", by: "token", from: "here" };

/** Two steps of two jobs each; the third step fails. */
async function* failing(): AsyncGenerator<number> {
  yield await Promise.resolve(2);
  yield 2;
  throw new Error("disk full");
}

async function* whole(): AsyncGenerator<number> {
  yield* [await Promise.resolve(5), 4];
}

/** Does an action of these steps on 9 jobs. Returns the recorded events in order, and the result or the error's message. */
async function recorded(steps: () => AsyncIterable<number>, following: Following = {}) {
  const notes: unknown[] = [];
  const tools = {
    record: ({ count, outcome }: { count?: number; outcome?: string }) => {
      notes.push([count, outcome]);
      return Promise.resolve();
    },
  };
  const deleteAll = action({
    name: "delete",
    about: "Deletes jobs",
    path: "/delete",
    takes: object("", {}),
    gives: object("", { changed: integer("") }),
    deed: () => ({ target: "all dead jobs" }),
    run: async (_tools, _given, runSteps) => ({ changed: await runSteps({ total: 9, steps: steps() }) }),
  });
  const result = await act(tools as never, AUTHOR, deleteAll, {}, following).catch((error: Error) => error.message);
  return [...notes, result];
}

Deno.test("an action in steps records its start, and the number of changed jobs at its end or after an error", async () => {
  assertEquals(await recorded(whole), [[9, "begun"], [9, undefined], { changed: 9 }]);
  assertEquals(await recorded(failing), [[9, "begun"], [4, "ended early: disk full"], "disk full"]);
});

Deno.test("an action in steps stops between two steps, and before the first", async () => {
  const stop = new AbortController();
  const progress = ({ changed }: { changed: number }) => void (changed > 0 && stop.abort());
  const interrupted = await recorded(failing, { signal: stop.signal, progress });
  assertEquals(interrupted, [[9, "begun"], [2, "interrupted"], { changed: 2 }]);
  const none = await recorded(failing, { signal: stop.signal });
  assertEquals(none, [[9, "begun"], [0, "interrupted"], { changed: 0 }]);
});

Deno.test("an error of progress ends the action and its steps", async () => {
  let ended = false;
  async function* endless() {
    try {
      for (;;) yield await Promise.resolve(1);
    } finally {
      ended = true;
    }
  }
  const progress = ({ changed }: { changed: number }) =>
    changed === 0 ? Promise.resolve() : Promise.reject(new Error("The dashboard stops"));
  const [, end, message] = await recorded(endless, { progress });
  assertEquals([end, message, ended], [[1, "ended early: The dashboard stops"], "The dashboard stops", true]);
});

Deno.test("a refused action is recorded with its reason, and thrown", async () => {
  const events: unknown[] = [];
  const tools = {
    record: (event: unknown, kind: string) => {
      events.push([event, kind]);
      return Promise.resolve();
    },
  };
  const refuse = action({
    name: "pause",
    about: "Pauses a queue",
    path: "/pause",
    takes: object("", {}),
    gives: object("", {}),
    deed: () => ({ target: "queue:mail" }),
    run: () => Promise.reject(new Refused("missing", "No queue mail")),
  });
  await assertRejects(() => act(tools as never, AUTHOR, refuse, {}), Refused, "No queue mail");
  const event = { ...AUTHOR, action: "pause", target: "queue:mail", outcome: "refused: No queue mail" };
  assertEquals(events, [[event, "refused"]]);
});

Deno.test("ages are relative to the time at which the user was asked", async () => {
  await using store = await openStore("sqlite::memory:");
  await new Client({ store, onUnregistered: () => {} }).push("A", [], { in: "1h" });
  const asked = Date.now() + 30 * 60_000;
  const tools = { store, clock: { ...systemClock, now: () => asked + 3_600_000 }, record: () => Promise.resolve() };
  const older = { action: "delete", all: { in: "scheduled", older: "1h" } };
  assertEquals(await act({ ...tools, asOf: asked }, AUTHOR, editJobs, older), { changed: 0 });
  assertEquals(await act(tools, AUTHOR, editJobs, older), { changed: 1 });
});
