import { assertEquals } from "@std/assert";
import type { Entry } from "../../store/port/entries.ts";
import { undoOf } from "./undo.ts";

function entry(place: Entry["place"]): Entry {
  return { ref: "", place, payload: '{"class":"A","queue":"mail","args":[],"jid":"a"}' } as Entry;
}

Deno.test("names the command that undoes a change of jobs, if there is one", () => {
  const queued = entry({ in: "queue", queue: "mail" });
  assertEquals(undoOf("kill", ["a"], [queued]), "jobs retry a");
  assertEquals(undoOf("move", ["a", "b"], [queued, queued]), "jobs move a b --to mail");
  assertEquals(undoOf("move", ["a", "b"], [queued, entry({ in: "queue", queue: "low" })]), undefined);
  assertEquals(undoOf("kill", ["a"], [entry({ in: "scheduled" })]), undefined, "its time is lost");
  assertEquals(undoOf("move", ["a"], [entry({ in: "dead" })]), undefined, "it would run");
  assertEquals(undoOf("delete", ["a"], [queued]), undefined);
  assertEquals(undoOf("kill", ["a", "b"], [queued]), undefined, "one wasn't found");
  const jids = ["a", "b", "c", "d", "e", "f"];
  assertEquals(undoOf("kill", jids, jids.map(() => queued)), undefined, "the line would be long");
});
