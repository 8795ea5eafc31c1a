/**
 * Who this process is.
 *
 * @module
 */

/** 12 hex digits that nobody else has. */
export function randomId(): string {
  return [...crypto.getRandomValues(new Uint8Array(6))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** `hostname:pid:nonce`; in containers, hostname and pid alone would repeat. */
export function newIdentity(hostname: string = Deno.hostname(), pid: number = Deno.pid): string {
  return `${hostname}:${pid}:${randomId()}`;
}
