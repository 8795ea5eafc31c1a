/**
 * Others ask something of a process, and it answers.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { type Cases, SLACK_MS } from "./harness.ts";
import { LAPSE_MS, register, TTL_MS, woken } from "./jobs.ts";

const A = "host:1:aaaaaaaaaaaa";
const B = "host:2:bbbbbbbbbbbb";
const NEVER = new AbortController().signal;

export const commands: Cases = {
  "a command reaches a process that waits for it": async (open) => {
    await using t = await open();
    const other = await t.another();
    await register(t.store, A);
    const received = await woken(
      (signal) => t.store.workers.receive(A, signal),
      () => other.workers.send(A, { verb: "dump", id: "1" }),
    );
    assertEquals(received, [{ verb: "dump", id: "1" }]);
  },

  "commands that came before it asked are there, in order, once": async (open) => {
    await using t = await open();
    const other = await t.another();
    await register(t.store, A);
    const sent = [{ verb: "quiet" }, { verb: "cancel", jid: "abc", id: "2" }, { verb: "resume" }] as const;
    for (const command of sent) assertEquals(await other.workers.send(A, command), true);
    assertEquals(await t.store.workers.receive(A, NEVER), sent.slice());
    const next = await woken(
      (signal) => t.store.workers.receive(A, signal),
      () => other.workers.send(A, { verb: "stop" }),
    );
    assertEquals(next, [{ verb: "stop" }]);
  },

  "a command reaches the process it is for and no other": async (open) => {
    await using t = await open();
    await register(t.store, A);
    await register(t.store, B);
    await t.store.workers.send(A, { verb: "quiet" });
    const received = await woken(
      (signal) => t.store.workers.receive(B, signal),
      () => t.store.workers.send(B, { verb: "stop" }),
    );
    assertEquals(received, [{ verb: "stop" }]);
    assertEquals(await t.store.workers.receive(A, NEVER), [{ verb: "quiet" }]);
  },

  "no such process, a dead one, one that has gone: nobody to ask": async (open) => {
    await using t = await open();
    assertEquals(await t.store.workers.send(A, { verb: "quiet" }), false);
    await register(t.store, A);
    await t.store.workers.deregister(A);
    assertEquals(await t.store.workers.send(A, { verb: "quiet" }), false);
    await register(t.store, B);
    t.advance(LAPSE_MS);
    assertEquals(await t.store.workers.send(B, { verb: "quiet" }), false);
  },

  "an answer reaches the one who waits for it": async (open) => {
    await using t = await open();
    const other = await t.another();
    const text = '{"lines":["é\\n",1.0]}';
    assertEquals(
      await woken((signal) => other.workers.awaitReply("7", signal), () => t.store.workers.reply("7", text)),
      text,
    );
  },

  "an answer that is there already": async (open) => {
    await using t = await open();
    const other = await t.another();
    await t.store.workers.reply("7", "seven");
    await t.store.workers.reply("8", "eight");
    assertEquals(await other.workers.awaitReply("8", NEVER), "eight");
    assertEquals(await other.workers.awaitReply("7", NEVER), "seven");
  },

  "an answer is forgotten when nobody asked for long": async (open) => {
    await using t = await open();
    await t.store.workers.reply("7", "old");
    t.advance(TTL_MS + 2 * SLACK_MS);
    assertEquals(
      await woken((signal) => t.store.workers.awaitReply("7", signal), () => t.store.workers.reply("7", "new")),
      "new",
    );
  },
};
