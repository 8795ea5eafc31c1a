/**
 * Actions on queues, for pages and the API. Each is recorded in the audit log.
 *
 * @module
 */
import { formatDuration } from "../../job/duration.ts";
import { parseRunning, parseStarts, type QueueLimit } from "../../store/port/limits.ts";
import { ALL_QUEUES, pauseTarget } from "../../store/port/paused_queues.ts";
import { limitText } from "../../text/limits.ts";
import type { Visitor } from "../auth/gate.ts";
import { HttpError } from "../http/body.ts";
import { checkQueue } from "../read/job_sets.ts";
import type { Services } from "../services.ts";
import { recordAudit } from "./audit.ts";

/** Pauses a queue, for `forMs` or until it is resumed; or resumes it. `*` stands for all queues. */
export async function setPaused(
  services: Services,
  visitor: Visitor,
  queue: string,
  paused: boolean,
  forMs?: number,
): Promise<void> {
  if (queue !== ALL_QUEUES) checkQueue(queue);
  await (paused ? services.store.admin.pause(queue, forMs) : services.store.admin.pause(queue, 0));
  const span = forMs === undefined ? undefined : formatDuration(forMs);
  await recordAudit(services, visitor, { action: paused ? "pause" : "resume", queue, ...(span && { for: span }) }, {
    target: pauseTarget(queue),
    ...(span && { details: `for ${span}` }),
  });
}

/**
 * Sets the limits of a queue from texts: `running` such as `5`, `starts` such as `100/1m`. Empty texts remove a limit.
 *
 * @throws {HttpError} if a text is invalid
 */
export async function setLimit(
  services: Services,
  visitor: Visitor,
  name: string,
  texts: { readonly running: string; readonly starts: string },
): Promise<QueueLimit> {
  const queue = checkQueue(name);
  const running = parseField("running", texts.running, parseRunning);
  const starts = parseField("starts", texts.starts, parseStarts);
  const limit = { ...(running !== undefined && { running }), ...(starts !== undefined && { starts }) };
  await services.store.admin.limit(queue, limit);
  const details = limitText(limit) || "off";
  await recordAudit(services, visitor, { action: "limit", queue, limit: details }, {
    target: pauseTarget(queue),
    details,
  });
  return limit;
}

function parseField<Value>(name: string, text: string, parse: (text: string) => Value): Value | undefined {
  if (text.trim() === "") return undefined;
  try {
    return parse(text);
  } catch (error) {
    throw new HttpError(422, (error as Error).message, name);
  }
}
