/**
 * Commands to workers, and their replies.
 *
 * @module
 */
import { awaitReply, receiveCommands } from "../../src/store/ops/await.ts";
import { assertEquals } from "@std/assert";
import { type Cases, SLACK_MS } from "./harness.ts";
import { LAPSE_MS, register, TTL_MS, woken } from "./jobs.ts";

const A = "host:1:aaaaaaaaaaaa";
const B = "host:2:bbbbbbbbbbbb";
const NEVER = new AbortController().signal;

export const commands: Cases = {
  "a command reaches a worker that waits for it": async (open) => {
    await using t = await open();
    const other = await t.another();
    await register(t.store, A);
    const received = await woken(
      (signal) => receiveCommands(t.store, A, signal),
      () => other.workers.send(A, { verb: "dump", id: "1" }),
    );
    assertEquals(received, [{ verb: "dump", id: "1" }]);
  },

  "commands sent before the wait are received once, in order": async (open) => {
    await using t = await open();
    const other = await t.another();
    await register(t.store, A);
    const sent = [{ verb: "quiet" }, { verb: "cancel", jid: "abc", id: "2" }, { verb: "resume" }] as const;
    for (const command of sent) assertEquals(await other.workers.send(A, command), true);
    assertEquals(await receiveCommands(t.store, A, NEVER), sent.slice());
    const next = await woken(
      (signal) => receiveCommands(t.store, A, signal),
      () => other.workers.send(A, { verb: "stop" }),
    );
    assertEquals(next, [{ verb: "stop" }]);
  },

  "a command reaches only its worker": async (open) => {
    await using t = await open();
    await register(t.store, A);
    await register(t.store, B);
    await t.store.workers.send(A, { verb: "quiet" });
    const received = await woken(
      (signal) => receiveCommands(t.store, B, signal),
      () => t.store.workers.send(B, { verb: "stop" }),
    );
    assertEquals(received, [{ verb: "stop" }]);
    assertEquals(await receiveCommands(t.store, A, NEVER), [{ verb: "quiet" }]);
  },

  "send returns false for an unknown, an offline and a deregistered worker": async (open) => {
    await using t = await open();
    assertEquals(await t.store.workers.send(A, { verb: "quiet" }), false);
    await register(t.store, A);
    await t.store.workers.deregister(A);
    assertEquals(await t.store.workers.send(A, { verb: "quiet" }), false);
    await register(t.store, B);
    t.advance(LAPSE_MS);
    assertEquals(await t.store.workers.send(B, { verb: "quiet" }), false);
  },

  "a reply reaches its waiter": async (open) => {
    await using t = await open();
    const other = await t.another();
    const text = '{"lines":["é\\n",1.0]}';
    assertEquals(
      await woken((signal) => awaitReply(other, "7", signal), () => t.store.workers.send("7", text)),
      text,
    );
  },

  "a reply that was sent before the wait is received": async (open) => {
    await using t = await open();
    const other = await t.another();
    await t.store.workers.send("7", "seven");
    await t.store.workers.send("8", "eight");
    assertEquals(await awaitReply(other, "8", NEVER), "eight");
    assertEquals(await awaitReply(other, "7", NEVER), "seven");
  },

  "a reply that isn't read expires": async (open) => {
    await using t = await open();
    await t.store.workers.send("7", "old");
    t.advance(TTL_MS + 2 * SLACK_MS);
    assertEquals(
      await woken((signal) => awaitReply(t.store, "7", signal), () => t.store.workers.send("7", "new")),
      "new",
    );
  },
};
