/**
 * The next runs of a cron entry, and what is known of those that are over.
 *
 * @module
 */
import type { CronRecord } from "../../cron/occurrence.ts";
import { number } from "../../text/format.ts";
import { TableHead } from "./table.tsx";
import { ExactTime, Time, type View } from "./view.tsx";

/** The times as a list; `text` writes one in the zone of the entry. */
export function RunTimes({ view, times, text }: {
  readonly view: View;
  readonly times: readonly number[];
  readonly text: (at: number) => string;
}) {
  return (
    <table class="list narrow">
      <TableHead columns={["Time", "From now, in your zone"]} />
      <tbody>
        {times.map((at) => (
          <tr>
            <td class="when">{text(at)}</td>
            <td class="when">
              <ExactTime at={at} now={view.now} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The reason of an outcome; of missed runs how many, and the first. */
export function OutcomeNote({ view, record: { outcome, reason, count = 1, first } }: {
  readonly view: Pick<View, "now">;
  readonly record: CronRecord;
}) {
  if (reason !== undefined) return <span class="note">{reason}</span>;
  if (outcome !== "missed" || count === 1) return null;
  return (
    <span class="note nowrap">
      {number(count)} runs{first !== undefined && (
        <>
          , the first <Time at={first} now={view.now} />
        </>
      )}
    </span>
  );
}
