/**
 * The heartbeat thread's side of unstarted jobs. It claims every job that it can, without a pause, until a job with the
 * token `end` comes. It posts its start, and then the tokens.
 *
 * @module
 */
import { UnstartedMemory } from "../../src/server/work/unstarted_memory.ts";

const scope = self as unknown as {
  postMessage(message: readonly string[]): void;
  onmessage: (event: MessageEvent<SharedArrayBuffer>) => void;
};
scope.onmessage = ({ data }) => {
  const memory = new UnstartedMemory(data);
  scope.postMessage([]);
  const tokens: string[] = [];
  while (tokens.at(-1) !== "end") for (const { token } of memory.claimAll()) tokens.push(token);
  scope.postMessage(tokens.slice(0, -1));
};
