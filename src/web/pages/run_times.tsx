/**
 * The next runs of a cron entry.
 *
 * @module
 */
import { TableHead } from "./table.tsx";
import { ExactTime, type View } from "./view.tsx";

/** The times as a list; `text` writes one in the zone of the entry. */
export function RunTimes({ view, times, text }: {
  readonly view: View;
  readonly times: readonly number[];
  readonly text: (at: number) => string;
}) {
  return (
    <table class="list narrow">
      <TableHead columns={["Time", "From now"]} />
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
