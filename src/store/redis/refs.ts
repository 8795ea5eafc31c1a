/**
 * Refs: the names of entries. A ref has the place, a digest of the entry's bytes, and its last position. Finding the entry
 * takes one read if nothing has moved, and a search otherwise.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { zlib } from "../../std/zlib.ts";
import type { SetName } from "../port/entries.ts";
import type { Arg } from "./client/encode.ts";

/** A parsed ref. */
export type Ref =
  | { readonly in: "queue"; readonly queue: string; readonly digest: string; readonly position: number }
  | { readonly in: SetName; readonly digest: string; readonly position: number; readonly score: number }
  | { readonly in: "running"; readonly worker: string; readonly token: string };

const SEPARATOR = "~";

let crc32: ((data: Arg) => number) | undefined;

/** Number of hex digits that {@linkcode checksumOf} returns. */
export const CHECKSUM_DIGITS = 8;

/** Returns the digest of an entry's bytes. */
export function digestOf(exact: Arg): string {
  return checksumOf(exact) + createHash("sha1").update(exact).digest("hex").slice(0, 16);
}

/**
 * Returns the first digits of the digest. Entries with different checksums differ. It takes a fifteenth of the digest's time,
 * which counts when a million entries are compared.
 */
export function checksumOf(exact: Arg): string {
  crc32 ??= zlib().crc32;
  return crc32(exact).toString(16).padStart(CHECKSUM_DIGITS, "0");
}

/** Returns whether a digest is that of an entry's bytes. */
export function isDigestOf(digest: string, exact: Arg): boolean {
  return digest.startsWith(checksumOf(exact)) && digest === digestOf(exact);
}

/** Formats a ref as text. */
export function formatRef(ref: Ref): string {
  switch (ref.in) {
    case "queue":
      return [ref.in, ref.digest, ref.position, ref.queue].join(SEPARATOR);
    case "running":
      return [ref.in, ref.worker.length, ref.worker + ref.token].join(SEPARATOR);
    default:
      return [ref.in, ref.digest, ref.position, ref.score].join(SEPARATOR);
  }
}

/** Parses a ref. Returns undefined if the text isn't one. */
export function parseRef(text: string): Ref | undefined {
  const match = /^(queue|scheduled|retry|dead|running)~([0-9a-f]+)~(.*)$/s.exec(text);
  if (!match) return undefined;
  const [, place, second, rest] = match as unknown as [string, Ref["in"], string, string];
  if (place === "running") {
    const length = Number(second);
    return { in: place, worker: rest.slice(0, length), token: rest.slice(length) };
  }
  const separator = rest.indexOf(SEPARATOR);
  const position = Number(rest.slice(0, separator));
  const last = rest.slice(separator + 1);
  if (separator < 0 || !Number.isInteger(position)) return undefined;
  if (place === "queue") return { in: place, queue: last, digest: second, position };
  const score = Number(last);
  return last === "" || Number.isNaN(score) ? undefined : { in: place, digest: second, position, score };
}
