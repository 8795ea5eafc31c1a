import { assertEquals } from "@std/assert";
import { foldPushes } from "./audit.ts";

const LOCAL = { user: "local", by: "local", from: "127.0.0.1" };

Deno.test("folds pushes of one user in a row, and nothing else", () => {
  const push = (at: number, more: object = {}) => ({
    ...LOCAL,
    at,
    action: "push",
    target: `j${at}`,
    count: 1,
    ...more,
  });
  const pause = { ...LOCAL, at: 7, action: "pause", target: "queue:mail" };
  const events = [
    push(9, { count: 7 }),
    push(8),
    pause,
    push(6),
    push(5, { user: "ann" }),
    push(4, { outcome: "refused" }),
  ];
  assertEquals(
    foldPushes(events).map(({ at, user, target, count, folded }) => [at, user, target, count, folded]),
    [
      [9, "local", "", 8, { entries: 2, since: 8 }],
      [7, "local", "queue:mail", undefined, undefined],
      [6, "local", "j6", 1, undefined],
      [5, "ann", "j5", 1, undefined],
      [4, "local", "j4", 1, undefined],
    ],
  );
});
