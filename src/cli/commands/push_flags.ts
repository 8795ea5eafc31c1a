/**
 * The options of `jobs push` as a request, refused by the names that they have at the command line.
 *
 * @module
 */
import { InvalidPayload } from "../../job/errors.ts";
import { type JobRequest, prepare } from "../../job/payload.ts";
import { UsageError } from "../terminal/args.ts";

/** The flags that say something of the job, as text. */
export type RequestFlags = Readonly<
  Partial<
    Record<"queue" | "in" | "at" | "retry" | "timeout" | "expires-in" | "unique-for" | "tags", string | undefined>
  >
>;

/**
 * What holds for each job that is pushed.
 *
 * @param name the class; undefined where each line of a file says its own
 * @throws {UsageError} when it could be no job's
 */
export function requestOf(name: string | undefined, flags: RequestFlags): Partial<JobRequest> {
  const request = {
    ...(name !== undefined && { class: name }),
    ...(flags.queue !== undefined && { queue: flags.queue }),
    ...(flags.in !== undefined && { in: flags.in }),
    ...(flags.at !== undefined && { at: numberOrText(flags.at) }),
    ...(flags.retry !== undefined && { retry: parseRetry(flags.retry) }),
    ...(flags.timeout !== undefined && { timeout: flags.timeout }),
    ...(flags["expires-in"] !== undefined && { expires_in: flags["expires-in"] }),
    ...(flags["unique-for"] !== undefined && { unique_for: flags["unique-for"] }),
    ...(flags.tags !== undefined && { tags: parseTags(flags.tags) }),
  };
  try {
    prepare({ class: "A", ...request });
  } catch (error) {
    if (!(error instanceof InvalidPayload)) throw error;
    throw new UsageError(`${shown(error.field)} is ${error.value}; wanted: ${wantedHere(error.wanted)}`);
  }
  return request;
}

function shown(field: string): string {
  return field === "class" ? "CLASS" : `--${field.replaceAll("_", "-")}`;
}

/** In the words of a shell, which has no dates but texts. */
function wantedHere(wanted: string): string {
  return wanted.replace(/^a Date, /, "").replace('"in" or "at"', "--in or --at");
}

function parseTags(text: string): string[] {
  const tags = text.split(",").map((tag) => tag.trim());
  if (!tags.includes("")) return tags;
  throw new UsageError(`--tags is "${text}"; wanted: words with a comma between them, such as mail,urgent`);
}

function numberOrText(text: string): number | string {
  return /^\d+(\.\d+)?$/.test(text) ? Number(text) : text;
}

function parseRetry(text: string): number | boolean {
  if (text === "true" || text === "false") return text === "true";
  if (/^\d{1,6}$/.test(text)) return Number(text);
  throw new UsageError(`--retry is "${text}"; wanted: a number of times, true or false`);
}
