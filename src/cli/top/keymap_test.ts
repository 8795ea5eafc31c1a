import { assertEquals, assertMatch } from "@std/assert";
import {
  someBatch,
  somePayload,
  someQueue,
  someSnapshot,
  someStats,
  someWorker,
} from "../../../tests/support/snapshot.ts";
import { type Effect, press } from "./keymap.ts";
import type { Snapshot } from "./snapshot.ts";
import { FIRST_STATE, type State } from "./state.ts";

const SNAPSHOT = someSnapshot({
  stats: someStats({ dead: 2, queues: [someQueue("default", { size: 3 }), someQueue("mail", { paused: true })] }),
  workers: [someWorker("a:1:x", [somePayload("jid-a")]), someWorker("b:2:y", [], { quiet: true })],
});
const DEAD: Snapshot = {
  ...SNAPSHOT,
  list: {
    place: { in: "dead" },
    cursors: [],
    page: {
      entries: [
        { ref: "ref-1", place: { in: "dead" }, payload: somePayload("jid-1") },
        { ref: "ref-2", place: { in: "dead" }, payload: "not JSON" },
      ],
      next: "cursor-2",
    },
  },
};
const ROOM = { columns: 80, rows: 10 };

function pressed(keys: readonly string[], snapshot: Snapshot | undefined = SNAPSHOT, from: State = FIRST_STATE) {
  const effects: Effect[] = [];
  const state = keys.reduce((state, key) => {
    const { state: next, effect } = press(state, key, snapshot, ROOM);
    if (effect !== undefined) effects.push(effect);
    return next;
  }, from);
  return { state, effects };
}

Deno.test("Tab goes to the batches only if there are some, and Enter opens one", () => {
  assertEquals(pressed(["tab", "tab", "tab"]).state.pane, "sets");
  assertEquals(pressed(["back-tab", "back-tab"]).state.pane, "running");
  const batches = { ...SNAPSHOT, batches: [someBatch("b1"), someBatch("b2", { flow: true })] };
  const { state, effects } = pressed(["tab", "tab", "tab", "j", "enter"], batches);
  assertEquals(state.pane, "batches");
  const [effect] = effects;
  assertEquals(effect?.do === "open" && [effect.text.title, effect.text.of], ["Flow b2", { batch: "b2" }]);
  // The last batch has ended while the keys are in the pane.
  assertEquals(pressed(["tab"], SNAPSHOT, state).state.pane, "sets");
});

Deno.test("Tab lists the jobs of the next group of an open queue, and those without a group after the last", () => {
  const group = { size: 1, latencyMs: 0, running: 0, weight: 1, isOwn: false, paused: false };
  const place = { in: "queue", queue: "default" } as const;
  const groups = [{ ...group, name: "acme" }, { ...group, name: "bob" }];
  const snapshot: Snapshot = { ...SNAPSHOT, list: { place, cursors: [], page: { entries: [] }, groups } };
  const opened = (...keys: string[]) => pressed(["tab", "enter", ...keys], snapshot).state.list?.place;
  assertEquals(opened("tab"), { ...place, group: "acme" });
  assertEquals(opened("tab", "tab"), { ...place, group: "bob" });
  assertEquals(opened("back-tab"), { ...place, group: "bob" });
  assertEquals(opened("tab", "tab", "tab"), place);
  const elsewhere = pressed(["tab", "j", "enter", "tab"], snapshot).state;
  assertEquals([elsewhere.list?.place, elsewhere.status?.isError], [{ in: "queue", queue: "mail" }, false]);
});

Deno.test("p pauses a queue, and resumes a paused one", () => {
  assertEquals(pressed(["tab", "p"]).effects, [{ do: "perform", action: { do: "pause", queue: "default" } }]);
  assertEquals(pressed(["tab", "j", "p"]).effects, [{ do: "perform", action: { do: "resume", queue: "mail" } }]);
  assertEquals(pressed(["tab", "j", "j", "j", "up", "p"]).effects, [{
    do: "perform",
    action: { do: "pause", queue: "default" },
  }]);
});

Deno.test("Q quiets a worker or resumes it; S, c, x and K ask, and only y confirms", () => {
  const signal = (verb: "quiet" | "resume" | "stop", workerId: string): Effect => ({
    do: "perform",
    action: { do: "signal", verb, workerId },
  });
  assertEquals(pressed(["Q"]).effects, [signal("quiet", "a:1:x")]);
  assertEquals(pressed(["j", "Q"]).effects, [signal("resume", "b:2:y")]);
  assertEquals(pressed(["S"]).state.question?.text, "Stop a:1:x?");
  for (const no of ["n", "escape", "enter", "q", "S", " "]) {
    const { state, effects } = pressed(["S", no]);
    assertEquals([effects, state.question, state.status?.text], [[], undefined, "Nothing changed"]);
  }
  assertEquals(pressed(["S", "y"]).effects, [signal("stop", "a:1:x")]);
  assertEquals(pressed(["tab", "tab", "c", "y"]).effects, [{ do: "perform", action: { do: "cancel", jid: "jid-a" } }]);
});

Deno.test("pasted text is ignored, except in a filter", () => {
  assertEquals(pressed(["S", "paste:y"]).effects, []);
  assertEquals(pressed(["paste:Q"]), { state: FIRST_STATE, effects: [] });
  assertEquals(pressed(["/", "w", "paste:eb1\nq", "backspace", "enter"]).state.filter, "we" + "b");
});

Deno.test("a set opens as a list with pages; keys act on its jobs", () => {
  const inside = pressed(["tab", "tab", "tab", "end", "enter"]);
  assertEquals(inside.effects, [{ do: "read" }]);
  assertEquals(inside.state.list, { place: { in: "dead" }, cursors: [] });
  const act = (...keys: string[]) => pressed(keys, DEAD, inside.state).effects;
  assertEquals(act("r"), [{ do: "perform", action: { do: "requeue", ref: "ref-1", jid: "jid-1" } }]);
  assertEquals(act("x"), []);
  assertEquals(act("x", "y"), [{ do: "perform", action: { do: "delete", ref: "ref-1", jid: "jid-1" } }]);
  const unreadable = "the unreadable job";
  assertEquals(act("j", "K", "y"), [{ do: "perform", action: { do: "kill", ref: "ref-2", jid: unreadable } }]);
  const opened = act("enter")[0]!;
  assertEquals(opened.do === "open" && opened.text.of, { jid: "jid-1", ref: "ref-1" });
  const next = pressed(["j", "j"], DEAD, inside.state);
  assertEquals([next.state.list?.cursors, next.effects], [["cursor-2"], [{ do: "read" }]]);
  assertEquals(pressed(["n", "b"], DEAD, inside.state).state.list?.cursors, []);
  assertEquals(pressed(["q"], DEAD, inside.state).state.list, undefined);
});

Deno.test("q goes back, and quits on the first screen; Ctrl-C quits anywhere", () => {
  assertEquals(pressed(["q"]).effects, [{ do: "quit" }]);
  assertEquals(pressed(["q"], undefined).effects, [{ do: "quit" }]);
  assertEquals(pressed(["?", "q"]).effects, []);
  for (const before of [["?"], ["/"], ["S"], []]) {
    assertEquals(pressed([...before, "ctrl-c"]).effects, [{ do: "quit" }]);
  }
});

Deno.test("a text scrolls within its bounds", () => {
  const lines = Array.from({ length: 25 }, (_, i) => `line ${i}`);
  const from: State = { ...FIRST_STATE, text: { title: "Dump", lines, top: 0 } };
  const top = (...keys: string[]) => pressed(keys, SNAPSHOT, from).state.text?.top;
  assertEquals([top("k"), top("j"), top("page-down"), top("G"), top("G", "j"), top("G", "g")], [0, 1, 10, 15, 15, 0]);
});

Deno.test("a key without an effect leaves a status", () => {
  assertMatch(pressed(["p"]).state.status!.text, /p does nothing here/);
  assertEquals(pressed(["p", "j"]).state.status, undefined);
});
