/**
 * The rows of `job`, the content of jobs in any place, and of `member`, those in the sets ordered by time.
 *
 * @module
 */
import { batchIn } from "../../job/batch.ts";
import type { SetName } from "../port/entries.ts";
import { type Body, type Dialect, query } from "./body.ts";
import { inParts } from "./in_parts.ts";

/** A job's content. */
export interface Content {
  /** Null if the payload has none. */
  readonly jid: string | null;
  readonly payload: string;
}

/** A job with its number, which is also its position. */
export interface JobRow extends Content {
  readonly id: number;
}

/** Creates a job with a number that is higher than all others. Returns the number. */
export function* create({ jid, payload }: Content): Body<number> {
  const [row] = yield query("INSERT INTO job (jid, payload, batch) VALUES (?1, ?2, ?3) RETURNING id", [
    ...[jid, payload, batchIn(payload) ?? null],
  ]);
  return Number(row!.id);
}

/** Returns a job by its number. It must exist. */
export function* get(id: number): Body<JobRow> {
  return (yield query("SELECT id, jid, payload FROM job WHERE id = ?1", [id]))[0] as unknown as JobRow;
}

/** Replaces the payload of a job. */
export function* rewrite(id: number, payload: string): Body<void> {
  yield query("UPDATE job SET payload = ?1 WHERE id = ?2", [payload, id]);
}

/** Replaces the payloads of jobs. */
export function* rewriteAll(dialect: Dialect, rows: readonly (readonly [id: number, payload: string])[]): Body<void> {
  for (const { from, values } of dialect.given(["bigint", "text"], rows)) {
    yield query(`UPDATE job SET payload = column2 FROM ${from} WHERE id = column1`, values);
  }
}

/** Deletes jobs. The caller deletes their places in the same transaction. */
export function* remove(ids: readonly number[]): Body<void> {
  for (const { where, values } of inParts(ids, "id")) yield query(`DELETE FROM job WHERE ${where}`, values);
}

/** Adds a job that isn't in another place to a set. */
export function* addTo(place: SetName, at: number, job: number): Body<void> {
  yield query("INSERT INTO member (job, place, at) VALUES (?1, ?2, ?3)", [job, place, Math.round(at)]);
}

/** Adds jobs that aren't in another place to sets. */
export function* addAllTo(
  dialect: Dialect,
  rows: readonly (readonly [job: number, place: SetName, at: number])[],
): Body<void> {
  const all = rows.map(([job, place, at]) => [job, place, Math.round(at)]);
  for (const { from, values } of dialect.given(["bigint", "text", "bigint"], all)) {
    yield query(`INSERT INTO member (job, place, at) SELECT column1, column2, column3 FROM ${from}`, values);
  }
}

/** Removes a job from its set. The caller puts it in another place, or deletes it. Returns false if it isn't in one. */
export function* removeFromSet(job: number, place?: SetName): Body<boolean> {
  const [text, values]: [string, (string | number)[]] = place === undefined
    ? ["DELETE FROM member WHERE job = ?1 RETURNING 1", [job]]
    : ["DELETE FROM member WHERE job = ?1 AND place = ?2 RETURNING 1", [job, place]];
  return (yield query(text, values)).length > 0;
}
