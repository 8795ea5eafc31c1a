/**
 * `jobs push --bulk`: a job for each line of a file.
 *
 * Lines are stored in batches, and the next batch is read and parsed while one is stored. At most two batches are in memory.
 *
 * @module
 */
import { BulkInterrupted, type Client, type JobRequest, type PushResult } from "../../client/client.ts";
import { Interrupted } from "../terminal/errors.ts";
import { LongWork } from "../terminal/progress.ts";
import { type Batch, parseBatches } from "./push_batches.ts";
import { BulkReport, countLines } from "./push_report.ts";
import { JidWriter } from "./push_jids.ts";

/** How lines are pushed. */
export interface BulkFlags {
  readonly json: boolean;
  /** `skip` names invalid lines and pushes the others; `stop` pushes the lines before the first invalid one. */
  readonly onError: "skip" | "stop";
}

/**
 * Pushes the lines of a file and prints a jid for each.
 *
 * @param file a path, or `-` for stdin
 * @param base the options of every line that doesn't set them
 * @returns the exit code, 1 if a line is invalid, a jid can't be printed, or the store failed; and how many lines were stored
 * @throws {Interrupted} on Ctrl-C, with the first line that is not stored
 */
export async function pushLines(
  client: Client,
  file: string,
  base: Partial<JobRequest>,
  { json, onError }: BulkFlags,
): Promise<{ code: number; stored: number }> {
  // On a terminal that shows the jids, they are the progress.
  using work = new LongWork("Pushing", { drawn: !Deno.stdout.isTerminal() });
  const report = new BulkReport(work, onError);
  const output = new JidWriter(json);
  let last = 0;
  let failure: { readonly cause: unknown; readonly line: number } | undefined;
  const reading = new AbortController();
  const batches = parseBatches(file, base, report, AbortSignal.any([work.signal, reading.signal]));
  let next = batches.next();
  while (failure === undefined) {
    const { value: batch, done } = await next;
    if (done) break;
    last = batch.last;
    const storing = storeBatch(client, batch, base);
    // Parses the next batch meanwhile. Its errors are reported when it is awaited.
    next = batches.next();
    next.catch(() => {});
    const { results, cause } = await storing;
    report.add(results, batch.lines);
    output.print(results, batch.lines);
    if (cause !== undefined) failure = { cause, line: batch.lines[results.length] ?? batch.last };
    work.at({ done: report.stored, ...(batch.share !== undefined && { share: batch.share }) });
    if (report.stopsAt !== undefined && report.stopsAt <= last || work.signal.aborted) break;
  }
  // The next lines may never come: the program that writes them may wait for something else.
  reading.abort();
  await batches.return(undefined);
  work.clear();
  const code = report.end(file, last, failure);
  output.end(report.stored);
  if (failure === undefined && work.signal.aborted) {
    throw new Interrupted(`Interrupted: ${countLines(report.stored)} stored, none from line ${last + 1} on`);
  }
  return { code: output.failure === undefined ? code : 1, stored: report.stored };
}

async function storeBatch(
  client: Client,
  { jobs }: Batch,
  base: Partial<JobRequest>,
): Promise<{ results: readonly PushResult[]; cause?: unknown }> {
  const results: PushResult[] = [];
  try {
    if ("args" in jobs) return { results: await client.pushBulk({ ...base, ...jobs }) };
    for await (const result of client.pushMany(jobs.requests)) results.push(result);
    return { results };
  } catch (error) {
    if (!(error instanceof BulkInterrupted)) throw error;
    return { results: [...results, ...error.results], cause: error.cause };
  }
}
