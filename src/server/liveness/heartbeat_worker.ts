/**
 * The module of the heartbeat's thread.
 *
 * @module
 */
import { systemClock } from "../../clock.ts";
import { openStore } from "../../store/open.ts";
import type { FromHeartbeat, ToHeartbeat } from "./heartbeat_messages.ts";
import { HeartbeatThread } from "./heartbeat_thread.ts";

const scope = self as unknown as {
  postMessage(message: FromHeartbeat): void;
  onmessage: ((event: MessageEvent<ToHeartbeat>) => void) | null;
};

let thread: HeartbeatThread | undefined;

scope.onmessage = ({ data }) => {
  if (data.kind !== "start") return thread?.receive(data);
  thread = new HeartbeatThread({ clock: systemClock, post: (message) => scope.postMessage(message), openStore }, data);
};
