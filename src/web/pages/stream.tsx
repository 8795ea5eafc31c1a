/**
 * The stream of a job, which `live.js` continues while the job runs.
 *
 * @module
 */
import type { ShownStream } from "../read/stream.ts";

/** Nothing for a job that has ended without one; hidden until the first chunk of one that has not. */
export function Stream({ jid, stream, ended = false }: {
  readonly jid: string;
  readonly stream: ShownStream | undefined;
  readonly ended?: boolean;
}) {
  if (stream === undefined && ended) return null;
  const { text, last, run, isOpen } = stream ?? { text: "", last: 0, run: 0, isOpen: true };
  const follow = isOpen && !ended ? { "data-stream": jid, "data-after": last, "data-run": run } : {};
  return (
    <section id="stream" hidden={text === ""} {...follow}>
      <h2>Stream</h2>
      <pre class="document" tabindex={0} aria-label="Stream">{text}</pre>
    </section>
  );
}
