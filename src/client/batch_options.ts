/**
 * The options of a batch.
 *
 * @module
 */
import { BATCH_EVENTS } from "../job/batch.ts";
import { InvalidPayload } from "../job/errors.ts";
import { JOB_OPTIONS } from "../job/options.ts";
import { expectedOption } from "../job/suggest.ts";
import { jobIn, objectIn, parseObject } from "./json_object.ts";
import type { JobInput } from "./options.ts";

/** Options of a batch. Each callback is a job that is pushed at most once. */
export interface BatchOptions {
  /** Shown with the batch; at most 200 characters. */
  readonly name?: string;
  /** Words shown with the batch; at most 100. */
  readonly tags?: readonly string[];
  /** The webhooks that receive the end of the batch: a name in the setting `webhooks`, or several. */
  readonly notify?: string | readonly string[];
  /** Pushed when the batch is closed and every member has succeeded, also after dead members were retried by hand. */
  readonly success?: JobInput;
  /** Pushed when the batch is closed and every member has ended or is dead, for the first time. */
  readonly complete?: JobInput;
  /** Pushed when the first member is dead or was discarded. */
  readonly death?: JobInput;
  /** Pushed when the batch wasn't closed in time. Then `complete` and `success` are not pushed. */
  readonly abandoned?: JobInput;
  /** An open batch is abandoned this long after the last addition: seconds, or a duration. Default 1d. */
  readonly closeWithin?: number | string;
  /** A finished batch is kept for this long: seconds, or a duration. Default 7d. */
  readonly keepFor?: number | string;
  /** The ID of a batch that counts this one as a member, and waits for its callbacks. */
  readonly parent?: string;
}

const OPTIONS: ReadonlySet<string> = new Set([
  "name",
  "tags",
  "notify",
  "closeWithin",
  "keepFor",
  "parent",
  ...BATCH_EVENTS,
]);

/** Lists of batches show name and tags in full. */
const MAX_CHARACTERS = 200;
const SHORT = `at most ${MAX_CHARACTERS} characters`;
const MAX_TAGS = 100;

/**
 * Checks the options of a batch, except for its callbacks.
 *
 * @throws {InvalidPayload}
 */
export function checkBatchOptions(options: BatchOptions): void {
  objectIn("options", options, "an object with the options of a batch");
  for (const name of Object.keys(options)) {
    if (!OPTIONS.has(name)) {
      throw new InvalidPayload(
        name,
        options[name as keyof BatchOptions],
        expectedOption(name, [...OPTIONS]),
      );
    }
  }
  const { name, tags, notify, parent } = options;
  if (name !== undefined && !isShort(name)) throw new InvalidPayload("name", name, `a text of ${SHORT}`);
  if (parent !== undefined && (typeof parent !== "string" || parent === "")) {
    throw new InvalidPayload("parent", parent, "the ID of a batch");
  }
  if (notify !== undefined) JOB_OPTIONS.notify.kind.write("notify", notify);
  if (tags === undefined) return;
  if (!Array.isArray(tags) || tags.length > MAX_TAGS || !tags.every((tag) => tag !== "" && isShort(tag))) {
    throw new InvalidPayload("tags", tags, `a list of at most ${MAX_TAGS} words of ${SHORT}`);
  }
}

function isShort(text: unknown): boolean {
  return typeof text === "string" && text.length <= MAX_CHARACTERS;
}

/**
 * Parses the options of a batch: `jobs batch open FILE`, and the HTTP API. Opening the batch checks them.
 *
 * @throws {InvalidPayload} if the text isn't an object, or a callback isn't a job
 */
export function parseBatchOptions(text: string): BatchOptions {
  return callbackJobs(
    parseObject("batch", text, 'an object such as {"name": …, "success": {"class": …, "args": […]}}'),
  );
}

/**
 * Returns options from JSON, with callbacks as jobs.
 *
 * @throws {InvalidPayload} if a callback isn't a job
 */
export function callbackJobs(options: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const jobs = BATCH_EVENTS.flatMap((event) =>
    options[event] === undefined ? [] : [[event, jobIn(event, options[event])]]
  );
  return { ...options, ...Object.fromEntries(jobs) };
}
