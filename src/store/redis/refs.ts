/**
 * Names of entries: which place, what the entry is (a digest of its bytes), and where in the place it was last seen, so
 * that finding it again is one look as long as nothing has moved, and still finds it when something has.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";
import type { SetName } from "../admin/admin.ts";
import type { Arg } from "./client/encode.ts";

/** A parsed name. */
export type Ref =
  | { readonly in: "queue"; readonly queue: string; readonly digest: string; readonly position: number }
  | { readonly in: SetName; readonly digest: string; readonly position: number; readonly score: number }
  | { readonly in: "leased"; readonly owner: string; readonly token: string };

const SEPARATOR = "~";

/** Hex digits of a digest that {@linkcode checksumOf} returns. */
export const CHECKSUM_DIGITS = 8;

/** The digest of an entry's bytes. */
export function digestOf(exact: Arg): string {
  return checksumOf(exact) + createHash("sha1").update(exact).digest("hex").slice(0, 16);
}

/**
 * What the digest begins with. Entries that differ in it differ. It takes a fifteenth of the time, which counts where a
 * million entries are compared.
 */
export function checksumOf(exact: Arg): string {
  return crc32(exact).toString(16).padStart(CHECKSUM_DIGITS, "0");
}

/** Whether a digest is the one of an entry's bytes. */
export function isDigestOf(digest: string, exact: Arg): boolean {
  return digest.startsWith(checksumOf(exact)) && digest === digestOf(exact);
}

/** A name as text. */
export function formatRef(ref: Ref): string {
  switch (ref.in) {
    case "queue":
      return [ref.in, ref.digest, ref.position, ref.queue].join(SEPARATOR);
    case "leased":
      return [ref.in, ref.owner.length, ref.owner + ref.token].join(SEPARATOR);
    default:
      return [ref.in, ref.digest, ref.position, ref.score].join(SEPARATOR);
  }
}

/** The name that a text is; undefined when it is none. */
export function parseRef(text: string): Ref | undefined {
  const match = /^(queue|scheduled|retry|dead|leased)~([0-9a-f]+)~(.*)$/s.exec(text);
  if (!match) return undefined;
  const [, place, second, rest] = match as unknown as [string, Ref["in"], string, string];
  if (place === "leased") {
    const length = Number(second);
    return { in: place, owner: rest.slice(0, length), token: rest.slice(length) };
  }
  const separator = rest.indexOf(SEPARATOR);
  const position = Number(rest.slice(0, separator));
  const last = rest.slice(separator + 1);
  if (separator < 0 || !Number.isInteger(position)) return undefined;
  if (place === "queue") return { in: place, queue: last, digest: second, position };
  const score = Number(last);
  return last === "" || Number.isNaN(score) ? undefined : { in: place, digest: second, position, score };
}
