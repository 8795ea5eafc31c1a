/**
 * Names of entries: this row, in this place, with this job. A row's number alone could be another job's by now.
 *
 * @module
 */

/** What a name is made of. */
export interface RefParts {
  readonly id: number;
  readonly place: number;
  readonly jid: string | null;
}

/** The name of a row. */
export function makeRef({ id, place, jid }: RefParts): string {
  return `${place}.${id}.${jid ?? ""}`;
}

/** What a name says; undefined when it is none. */
export function parseRef(ref: string): RefParts | undefined {
  const parts = /^(\d)\.(\d{1,15})\.(.*)$/s.exec(ref);
  return parts ? { place: Number(parts[1]), id: Number(parts[2]), jid: parts[3] || null } : undefined;
}
