/**
 * Questions about the server that it may refuse to answer: managed services rename or deny INFO, CONFIG and others.
 *
 * @module
 */
import { StoreError } from "../../port/errors.ts";
import { isTransient, RedisError } from "./errors.ts";
import type { ReconnectingClient } from "./reconnecting_client.ts";

/** Returns the fields of `INFO`; empty if the server doesn't answer it. */
export async function readInfo(client: ReconnectingClient): Promise<Map<string, string>> {
  const text = await ask(client, ["INFO"]);
  if (typeof text !== "string") return new Map();
  return new Map(
    text.split("\r\n").map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon), line.slice(colon + 1)] as const;
    }),
  );
}

/** Returns a setting of the server; undefined if the server doesn't answer that. */
export async function readSetting(client: ReconnectingClient, name: string): Promise<string | undefined> {
  const reply = await ask(client, ["CONFIG", "GET", name]);
  if (typeof reply !== "object" || reply === null) return undefined;
  const pairs = reply instanceof Map ? [...reply].flat() : Array.isArray(reply) ? reply : Object.entries(reply).flat();
  return typeof pairs[1] === "string" ? pairs[1] : undefined;
}

/** Sends a command that isn't vital. Returns undefined if the server rejects it. */
export async function ask(client: ReconnectingClient, args: readonly string[]): Promise<unknown> {
  try {
    return await client.call(args);
  } catch (error) {
    const cause = error instanceof StoreError ? error.cause : undefined;
    if (cause instanceof RedisError && !isTransient(cause)) return undefined;
    throw error;
  }
}
