/**
 * The heartbeat's thread of a simulated worker: on a machine by itself, with a line to the store, while a handler blocks the event loop of
 * the other one. Messages between both are events; the memory that they share is real.
 *
 * @module
 */
import type { Thread } from "../../src/server/liveness/heartbeat.ts";
import type { FromHeartbeat, ToHeartbeat } from "../../src/server/liveness/heartbeat_messages.ts";
import { HeartbeatThread } from "../../src/server/liveness/heartbeat_thread.ts";
import type { ServerStore } from "../../src/store/port/store.ts";
import type { Machine } from "./world.ts";

/** A message is under way for this long at most. */
const MESSAGE_MS = 1;

/** Starts a thread: `there` is its machine, `here` that of the process. */
export function startThread(here: Machine, there: Machine, openStore: () => Promise<ServerStore>): Thread {
  const { world, clock } = there;
  const arrives = { here: 0, there: 0 };
  const send = (to: keyof typeof arrives, deliver: () => void) => {
    arrives[to] = Math.max(arrives[to], world.time + world.random.next() * MESSAGE_MS);
    world.at(arrives[to], to === "here" ? here : there, deliver);
  };
  const thread: Thread = {
    onmessage: null,
    onerror: null,
    postMessage: (message: ToHeartbeat) => send("there", () => receive(message)),
    terminate: () => there.kill(),
  };
  const post = (data: FromHeartbeat) =>
    send("here", () => thread.onmessage?.call(thread as Worker, { data } as MessageEvent));
  let inner: HeartbeatThread | undefined;
  const receive = (message: ToHeartbeat) => {
    if (message.kind !== "start") return inner?.receive(message);
    inner = new HeartbeatThread({ clock, post, openStore }, message);
  };
  return thread;
}
