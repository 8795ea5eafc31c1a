/**
 * Alerts about the outbox of an application.
 *
 * @module
 */
import { formatDuration } from "../../job/duration.ts";
import { maskError } from "../../text/mask.ts";
import { number } from "../../text/format.ts";
import { type Alert, sentence, type Situation } from "./alert.ts";

/** Rows that wait longer are behind. */
const BEHIND_MS = 60_000;

/** The database of an outbox fails, rows of it are refused, or its workers are behind. */
export function outboxAlerts({ workers, now }: Situation): Alert[] {
  const seen = workers.flatMap(({ alive, outbox }) => alive && outbox ? [outbox] : []);
  if (seen.length === 0) return [];
  const down = seen.filter(({ error }) => error !== undefined);
  if (down.length > 0) {
    const since = Math.min(...down.map(({ since = now }) => since));
    return [{
      kind: "bad",
      about: "jobs",
      title: `The outbox has failed for ${formatDuration(Math.max(0, now - since))}: its jobs wait`,
      detail: `${sentence(maskError(down[0]!.error!).slice(0, 300) || "its database doesn't answer")} (${
        down.length === 1 ? "one worker" : `${number(down.length)} workers`
      }).`,
      command: "jobs outbox",
      actions: [],
    }];
  }
  const refused = Math.max(...seen.map((record) => record.refused));
  const oldestMs = Math.max(...seen.map((record) => record.oldestMs ?? 0));
  return [
    ...(refused === 0 ? [] : [
      {
        kind: "warn",
        about: "jobs",
        title: `${number(refused)} ${refused === 1 ? "row" : "rows"} of the outbox ${
          refused === 1 ? "was" : "were"
        } refused`,
        detail: "Their jobs are invalid. Mend the rows, and retry them: jobs outbox retry.",
        command: "jobs outbox",
        actions: [],
      } as const,
    ]),
    ...(oldestMs < BEHIND_MS ? [] : [
      {
        kind: "warn",
        about: "jobs",
        title: `The outbox is ${formatDuration(oldestMs)} behind`,
        command: "jobs outbox",
        actions: [],
      } as const,
    ]),
  ];
}
