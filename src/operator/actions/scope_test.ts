import { assertEquals, assertThrows } from "@std/assert";
import type { Place } from "../../store/port/entries.ts";
import { Refused } from "./action.ts";
import { checkScope, inKeys, outsideText } from "./scope.ts";
import { ACTIONS } from "./table.ts";

/** An input of any action. */
const GIVEN = {
  ...{ name: "mail", key: "order:1", action: "delete" },
  ...{ overlap: "replace", entries: [{ overlap: "replace" }] },
};
const pathsOf = (fits: (one: typeof ACTIONS[number]) => unknown) => ACTIONS.filter(fits).map(({ path }) => path).sort();

Deno.test("each action that deletes says so", () => {
  assertEquals(pathsOf(({ deletes }) => deletes?.(GIVEN)), [
    "/actions",
    "/batches/{id}/cancel",
    "/cron",
    "/cron-bulk/add",
    "/cron-bulk/remove",
    "/cron/{name}/edit",
    "/cron/{name}/remove",
    "/flows/{id}/cancel",
    "/jobs/{jid}/cancel",
    "/jobs/{jid}/delete",
    "/jobs/{jid}/push-again",
    "/jobs/{jid}/steps/clear",
    "/jobs/{jid}/steps/rerun",
    "/queues/{name}/clear",
  ]);
});

Deno.test("an author that is limited to queues may use the actions on jobs and queues, and no others", () => {
  const scope = { queues: ["mail"], keys: ["order:*"] };
  const refused = pathsOf((one) => {
    try {
      checkScope(scope, one, GIVEN);
      return false;
    } catch (error) {
      return error instanceof Refused;
    }
  });
  const others = ["/pause", "/resume", "/workers", "/batches", "/flows", "/cron", "/cron-bulk"];
  assertEquals(refused, pathsOf(({ path }) => others.some((other) => path === other || path.startsWith(`${other}/`))));
  for (const one of ACTIONS) {
    if (!one.path.startsWith("/queues/")) continue;
    assertThrows(
      () => checkScope(scope, one, { name: "low" }),
      Refused,
      'Queue "low" is outside of your role; expected mail',
    );
  }
});

Deno.test("a signal's key is within the patterns of the scope; an author limited to queues alone sends none", () => {
  assertEquals(inKeys({ keys: ["order:*", "x"] }, "order:1"), true);
  assertEquals(inKeys({ keys: ["order:*", "x"] }, "xy"), false);
  assertEquals(inKeys({ queues: ["mail"] }, "order:1"), false);
  assertEquals(inKeys({ deletes: false }, "order:1"), true);
});

Deno.test("a job is outside of a scope by its queue, and an unreadable one outside of a queue is outside of every scope", () => {
  const outside = (queues: readonly string[], place: Place, payload: string) =>
    outsideText({ queues }, { ref: "r", place, payload }) !== undefined;
  const mail = '{"class":"Mail","args":[],"jid":"a","queue":"mail"}';
  const bare = '{"class":"Mail","args":[],"jid":"a"}';
  const dead: Place = { in: "dead" };
  assertEquals([outside(["mail"], dead, mail), outside(["low"], dead, mail)], [false, true]);
  assertEquals([outside(["default"], dead, bare), outside(["mail"], dead, bare)], [false, true]);
  for (const payload of ["", "{", "[]", '{"class":"Mail","queue":"default"', '{"queue":"default"}']) {
    for (const place of ["scheduled", "retry", "dead"] as const) {
      assertEquals(outside(["default"], { in: place }, payload), true, `${payload} in ${place}`);
    }
    assertEquals(outside(["mail"], { in: "queue", queue: "mail" }, payload), false);
    assertEquals(outside(["default"], { in: "queue", queue: "mail" }, payload), true);
  }
});
