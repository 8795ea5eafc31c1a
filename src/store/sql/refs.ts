/**
 * Refs: the names of entries. A ref has the row of `job`, the jid and the place: another job may have the row's number by now.
 *
 * @module
 */

/** The parts of a ref. */
export interface RefParts {
  readonly place: string;
  readonly id: number;
  readonly jid: string | null;
}

/** Returns the ref of an entry. */
export function makeRef({ place, id, jid }: RefParts): string {
  return `${place}.${id}.${jid ?? ""}`;
}

/** Parses a ref. Returns undefined if the text isn't one. */
export function parseRef(ref: string): RefParts | undefined {
  const parts = /^([a-z]+)\.(\d{1,15})\.(.*)$/s.exec(ref);
  return parts ? { place: parts[1]!, id: Number(parts[2]), jid: parts[3] || null } : undefined;
}
