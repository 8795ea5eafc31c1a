import { assertEquals } from "@std/assert";
import type { QueueInfo } from "../../store/admin/admin.ts";
import type { Store } from "../../store/admin/store.ts";
import { ALL_QUEUES } from "../../store/port/paused_queues.ts";
import { reportLeftPaused } from "./left_paused.ts";

/** Returns whether jobs are left in paused queues, of a worker that serves `mail`. */
function isLeft(...queues: Pick<QueueInfo, "name" | "size" | "paused">[]): Promise<boolean> {
  const admin = { stats: () => Promise.resolve({ queues }) } as unknown as Store["admin"];
  return reportLeftPaused({ admin }, (queue) => queue === "mail");
}

Deno.test("jobs are left in a queue that the worker serves, if that or all queues are paused", async () => {
  const all = { name: ALL_QUEUES, size: 0, paused: true };
  const mail = { name: "mail", size: 1, paused: false };
  assertEquals(await isLeft({ ...mail, paused: true }), true);
  assertEquals(await isLeft(all, mail), true);
  assertEquals(await isLeft(mail, { name: "other", size: 1, paused: true }), false);
  assertEquals(await isLeft(all, { ...mail, size: 0 }, { name: "other", size: 1, paused: false }), false);
  assertEquals(await isLeft({ ...all, paused: false }, mail), false);
});
