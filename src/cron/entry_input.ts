/**
 * Turns a stored entry back into an entry as authors write it, to fill the form that edits it.
 *
 * @module
 */
import { boundsInput, durationText } from "./bounds.ts";
import type { CronEntry, CronEntryInput } from "./entry.ts";
import { PUSH_OPTIONS } from "./entry_fields.ts";

/** Returns an input that gives this entry. */
export function entryInput(entry: CronEntry): CronEntryInput {
  const { name, schedule, class: className, args, options, memo, overlap, catchUp, everyProcess } = entry;
  const isKnown = ([field]: [string, unknown]) => PUSH_OPTIONS.includes(field);
  const further = Object.entries(options).filter((option) => !isKnown(option));
  return {
    name,
    ...("rule" in schedule
      ? { rule: schedule.rule, timezone: schedule.timezone }
      : { every: durationText(schedule.everyMs), ...anchorOf(schedule.anchor) }),
    ...boundsInput(schedule),
    class: className,
    args,
    ...Object.fromEntries(Object.entries(options).filter(isKnown)),
    ...(further.length > 0 && { options: Object.fromEntries(further) }),
    ...(memo !== undefined && { memo }),
    overlap,
    catchUp: catchUp.policy,
    ...(catchUp.policy !== "none" && { catchUpWindow: durationText(catchUp.windowMs) }),
    everyProcess,
  };
}

function anchorOf(anchor: number): { anchor?: string } {
  return anchor === 0 ? {} : { anchor: Temporal.Instant.fromEpochMilliseconds(anchor).toString() };
}
