/**
 * The ID of a worker.
 *
 * @module
 */

/** Returns 12 random hex digits. */
export function randomId(): string {
  return [...crypto.getRandomValues(new Uint8Array(6))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Returns the ID of a worker on this machine, `hostname:pid:nonce`. In containers, hostname and pid alone would repeat. */
export function workerIdOf(pid: number, nonce: string): string {
  return `${Deno.hostname()}:${pid}:${nonce}`;
}
