/**
 * A program with a worker that does not wait for the worker's end: `embedding_child.ts STORE`. It ends when the
 * worker has ended, and prints the result of `finished`.
 *
 * @module
 */
import { startServer } from "../../src/mod.ts";

const server = await startServer({ store: Deno.args[0]!, settings: { heartbeat: "50ms" } });
console.log("started");

let isAsked = false;
globalThis.addEventListener("beforeunload", (event) => {
  if (isAsked) return;
  isAsked = true;
  event.preventDefault();
  server.finished.then(() => console.log("finished"), ({ code }) => console.log(`failed: ${code}`));
});
