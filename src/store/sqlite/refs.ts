/**
 * Names of entries: this row of `job`, with this jid, in this place. A row's number alone could be another job's by now.
 *
 * @module
 */

/** What a name is made of. */
export interface RefParts {
  readonly place: string;
  readonly id: number;
  readonly jid: string | null;
}

/** The name of an entry. */
export function makeRef({ place, id, jid }: RefParts): string {
  return `${place}.${id}.${jid ?? ""}`;
}

/** What a name says; undefined when it is none. */
export function parseRef(ref: string): RefParts | undefined {
  const parts = /^([a-z]+)\.(\d{1,15})\.(.*)$/s.exec(ref);
  return parts ? { place: parts[1]!, id: Number(parts[2]), jid: parts[3] || null } : undefined;
}
