/**
 * Who this process is.
 *
 * @module
 */

/** 12 hex digits that nobody else has. */
export function randomId(): string {
  return [...crypto.getRandomValues(new Uint8Array(6))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Of a process on this machine: `hostname:pid:nonce`; in containers, hostname and pid alone would repeat. */
export function identityOf(pid: number, nonce: string): string {
  return `${Deno.hostname()}:${pid}:${nonce}`;
}
