import { assertEquals, assertMatch } from "@std/assert";
import { somePayload, someProcess, someQueue, someSnapshot, someStats } from "../../../tests/support/snapshot.ts";
import { type Effect, press } from "./keymap.ts";
import type { Snapshot } from "./snapshot.ts";
import { FIRST_STATE, type State } from "./state.ts";

const SNAPSHOT = someSnapshot({
  stats: someStats({ dead: 2, queues: [someQueue("default", { size: 3 }), someQueue("mail", { paused: true })] }),
  processes: [someProcess("a:1:x", [somePayload("jid-a")]), someProcess("b:2:y", [], { quiet: true })],
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

Deno.test("p pauses a queue that goes, and resumes one that is paused", () => {
  assertEquals(pressed(["tab", "p"]).effects, [{ do: "act", act: { do: "pause", queue: "default" } }]);
  assertEquals(pressed(["tab", "j", "p"]).effects, [{ do: "act", act: { do: "resume", queue: "mail" } }]);
  assertEquals(pressed(["tab", "j", "j", "j", "up", "p"]).effects, [{
    do: "act",
    act: { do: "pause", queue: "default" },
  }]);
});

Deno.test("Q quiets a process or ends that; S, c, x and K ask, and only y does it", () => {
  const tell = (verb: "quiet" | "resume" | "stop", identity: string): Effect => ({
    do: "act",
    act: { do: "tell", verb, identity },
  });
  assertEquals(pressed(["Q"]).effects, [tell("quiet", "a:1:x")]);
  assertEquals(pressed(["j", "Q"]).effects, [tell("resume", "b:2:y")]);
  assertEquals(pressed(["S"]).state.question?.text, "Stop a:1:x?");
  for (const no of ["n", "escape", "enter", "q", "S", " "]) {
    const { state, effects } = pressed(["S", no]);
    assertEquals([effects, state.question, state.status?.text], [[], undefined, "Nothing done"]);
  }
  assertEquals(pressed(["S", "y"]).effects, [tell("stop", "a:1:x")]);
  assertEquals(pressed(["tab", "tab", "c", "y"]).effects, [{ do: "act", act: { do: "cancel", jid: "jid-a" } }]);
});

Deno.test("what is pasted does nothing, but in a filter", () => {
  assertEquals(pressed(["S", "paste:y"]).effects, []);
  assertEquals(pressed(["paste:Q"]), { state: FIRST_STATE, effects: [] });
  assertEquals(pressed(["/", "w", "paste:eb1\nq", "backspace", "enter"]).state.filter, "we" + "b");
});

Deno.test("a set is entered, its jobs acted on by their place, its pages turned", () => {
  const inside = pressed(["tab", "tab", "tab", "end", "enter"]);
  assertEquals(inside.effects, [{ do: "read" }]);
  assertEquals(inside.state.list, { place: { in: "dead" }, cursors: [] });
  const act = (...keys: string[]) => pressed(keys, DEAD, inside.state).effects;
  assertEquals(act("r"), [{ do: "act", act: { do: "requeue", ref: "ref-1", jid: "jid-1" } }]);
  assertEquals(act("x"), []);
  assertEquals(act("x", "y"), [{ do: "act", act: { do: "delete", ref: "ref-1", jid: "jid-1" } }]);
  const unreadable = "the job that cannot be read";
  assertEquals(act("j", "K", "y"), [{ do: "act", act: { do: "kill", ref: "ref-2", jid: unreadable } }]);
  const opened = act("enter")[0]!;
  assertEquals(opened.do === "open" && opened.text.of, { jid: "jid-1", ref: "ref-1" });
  const next = pressed(["j", "j"], DEAD, inside.state);
  assertEquals([next.state.list?.cursors, next.effects], [["cursor-2"], [{ do: "read" }]]);
  assertEquals(pressed(["n", "b"], DEAD, inside.state).state.list?.cursors, []);
  assertEquals(pressed(["q"], DEAD, inside.state).state.list, undefined);
});

Deno.test("q leads back, and quits on the first screen; Ctrl-C quits anywhere", () => {
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

Deno.test("a key that does nothing here says so", () => {
  assertMatch(pressed(["p"]).state.status!.text, /Nothing to do here with p/);
  assertEquals(pressed(["p", "j"]).state.status, undefined);
});
