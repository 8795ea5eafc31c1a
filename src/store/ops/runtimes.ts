/**
 * The runtimes of workers whose handlers run in other programs, over HTTP.
 *
 * @module
 */

/** A runtime that has a client. */
export type Runtime = "node" | "bun" | "deno" | "python" | "ruby" | "other";

/** Returns the runtime of such a worker by its version, `python 3.11, jobs-client 0.1`; undefined for a worker of `jobs run` or Sidekiq. */
export function runtimeOf(version: string | undefined): Runtime | undefined {
  const [, name] = /^([a-z]+) [^,]+, /i.exec(version ?? "") ?? [];
  if (name === undefined) return undefined;
  return (["node", "bun", "deno", "python", "ruby"] as const).find((one) => one === name.toLowerCase()) ?? "other";
}
