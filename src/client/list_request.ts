/**
 * Requests for parts of lists: checked, because a store takes a negative limit for none.
 *
 * @module
 */
import { InvalidPayload } from "../job/errors.ts";
import { objectIn } from "./json_object.ts";

/** A part of a list. */
export interface ListRequest {
  /** The `next` of the page before. */
  readonly cursor?: string;
  /** Maximum number of rows, at most 1,000. */
  readonly limit?: number;
}

/** A page has this many rows at most. */
const MAX_LIMIT = 1_000;

/**
 * Returns the request, without fields of other names.
 *
 * @throws {InvalidPayload} if the limit or the cursor is invalid
 */
export function checkListRequest(request: ListRequest): ListRequest {
  const { cursor, limit } = objectIn("request", request, "an object with cursor and limit") as ListRequest;
  if (cursor !== undefined && typeof cursor !== "string") {
    throw new InvalidPayload("cursor", cursor, "next of the page before");
  }
  return {
    ...(cursor !== undefined && { cursor }),
    ...(limit !== undefined && { limit: checkLimit("limit", limit) }),
  };
}

/** @throws {InvalidPayload} if a number of rows is invalid */
export function checkLimit(field: string, limit: number): number {
  if (Number.isInteger(limit) && limit >= 1 && limit <= MAX_LIMIT) return limit;
  throw new InvalidPayload(field, limit, `a whole number from 1 to ${MAX_LIMIT}`);
}
