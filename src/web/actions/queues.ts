/**
 * Actions on queues, for pages and the API. Each is recorded in the audit log.
 *
 * @module
 */
import { formatDuration } from "../../job/duration.ts";
import { isPath } from "../../job/group.ts";
import { priorityIn } from "../../job/priority.ts";
import { type GroupLimit, parseEnd, parseWeight } from "../../store/port/groups.ts";
import { parseRunning, parseStarts, type QueueLimit } from "../../store/port/limits.ts";
import { ALL_QUEUES, pauseTarget } from "../../store/port/paused_queues.ts";
import { groupLimitText } from "../../text/groups.ts";
import { limitText } from "../../text/limits.ts";
import type { Visitor } from "../auth/gate.ts";
import { HttpError } from "../http/body.ts";
import { checkGroup, checkQueue } from "../read/job_sets.ts";
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

/** Pauses a group of a queue, for `forMs` or until it is resumed; or resumes it. */
export async function setGroupPaused(
  services: Services,
  visitor: Visitor,
  { queue, group }: { readonly queue: string; readonly group: string },
  paused: boolean,
  forMs?: number,
): Promise<void> {
  checkQueue(queue);
  checkGroup(group);
  await services.store.admin.pauseGroup(queue, group, paused ? forMs : 0);
  const action = paused ? "pause" : "resume";
  const span = forMs === undefined ? undefined : formatDuration(forMs);
  await recordAudit(services, visitor, { action, queue, group, ...(span && { for: span }) }, {
    target: pauseTarget(queue, group),
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

/** Texts of a form or request: `weight` such as `3`, `for` such as `30d`. Empty ones set nothing. */
export interface GroupLimitTexts {
  readonly running: string;
  readonly starts: string;
  readonly weight: string;
  readonly for: string;
}

/**
 * Sets the limit of a group of a queue, or without a name that of each group without a separate one. Empty texts remove it.
 *
 * @throws {HttpError} if a text is invalid
 */
export async function setGroupLimit(
  services: Services,
  visitor: Visitor,
  { queue, group }: { readonly queue: string; readonly group: string | undefined },
  texts: GroupLimitTexts,
): Promise<GroupLimit> {
  checkQueue(queue);
  if (group !== undefined && priorityIn(checkGroup(group)) !== undefined) {
    throw new HttpError(422, "A priority has no limit; expected a group", "group");
  }
  const running = parseField("running", texts.running, parseRunning);
  const starts = parseField("starts", texts.starts, parseStarts);
  const weight = parseField("weight", texts.weight, parseWeight);
  const forMs = parseField("for", texts.for, parseEnd);
  if (group === undefined && (weight ?? forMs) !== undefined) {
    throw new HttpError(422, "A weight or an end belongs to one group", weight === undefined ? "for" : "weight");
  }
  const limit: GroupLimit = {
    ...(running !== undefined && { running }),
    ...(starts !== undefined && { starts }),
    ...(weight !== undefined && { weight }),
    ...(forMs !== undefined && { forMs }),
  };
  if (group !== undefined && isPath(group) && Object.keys(limit).length > 0) {
    throw new HttpError(
      422,
      `Invalid group "${group}"; expected a name, not a path; without it, limits each group`,
      "group",
    );
  }
  await services.store.admin.limitGroup(queue, group, limit);
  const details = groupLimitText(limit) || "off";
  const target = group === undefined ? `${pauseTarget(queue)} each group` : pauseTarget(queue, group);
  await recordAudit(services, visitor, { action: "limit", queue, group: group ?? "each", limit: details }, {
    target,
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
