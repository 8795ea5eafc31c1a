/**
 * Who asks on one connection is answered one request at a time: the next is looked at when the answer before it has been
 * sent. Otherwise whoever sends thousands of requests in one write and reads nothing would fill our memory with answers.
 *
 * @module
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** So many may wait behind the one that is answered. Browsers and proxies send none ahead. */
const MAX_AHEAD = 4;

/** A connection's requests that have no whole answer yet. */
interface Line {
  length: number;
  last: Promise<void>;
}

/**
 * Lets each connection's requests be answered in turn, and drops a connection that sends too many ahead.
 *
 * @param answer never throws
 */
export function serializeRequests(
  answer: (incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void>,
): (incoming: IncomingMessage, outgoing: ServerResponse) => void {
  const lines = new WeakMap<Socket, Line>();
  return (incoming, outgoing) => {
    const { socket } = incoming;
    if (socket.destroyed) return;
    const line = lines.get(socket) ?? { length: 0, last: Promise.resolve() };
    lines.set(socket, line);
    if (line.length > MAX_AHEAD) {
      socket.destroy();
      // Ends the reading of this packet, which may hold a thousand more; the parser catches it.
      throw new RangeError("Too many requests ahead");
    }
    line.length++;
    const sent = new Promise<void>((resolve) => void outgoing.once("close", resolve));
    line.last = line.last.then(async () => {
      // A connection's end is told only to the answer under way, not to those that wait.
      if (socket.destroyed) return;
      await answer(incoming, outgoing);
      await sent;
      line.length--;
    });
  };
}
