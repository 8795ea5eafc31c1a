/**
 * Reads the server's `INFO`.
 *
 * @module
 */
import { StoreError } from "../../port/errors.ts";
import type { ReconnectingClient } from "./reconnecting_client.ts";

/** Returns the fields of `INFO`; empty if this user may not read it. */
export async function readInfo(client: ReconnectingClient): Promise<Map<string, string>> {
  let text: string;
  try {
    text = await client.call(["INFO"]) as string;
  } catch (error) {
    if (error instanceof StoreError && error.code === "denied") return new Map();
    throw error;
  }
  return new Map(
    text.split("\r\n").map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon), line.slice(colon + 1)] as const;
    }),
  );
}
