/**
 * The streams part of the port: a stream of Redis per job.
 *
 * @module
 */
import { MAX_PAGE_CHARACTERS, MAX_STREAM_CHARACTERS, type StreamStore } from "../port/streams.ts";
import type { Context } from "./context.ts";
import { SCRIPTS } from "./client/scripts.ts";
import { leasesKey, streamKey } from "./keys.ts";

/** Parts of an entry in the reply of the script. */
const ENTRY_PARTS = 4;

/** Returns the part. */
export function streamsPart({ client }: Context): StreamStore {
  return {
    async append({ worker, token, jid }, { attempt, from, chunks }) {
      const reply = await client.run(SCRIPTS.streamAppend, {
        ...{ leases: leasesKey(worker), stream: streamKey(jid), token, jid },
        ...{ attempt, from, maxSize: MAX_STREAM_CHARACTERS, chunks },
      });
      return reply === 1;
    },
    async read(jid, after) {
      const args = { stream: streamKey(jid), after, maxBytes: MAX_PAGE_CHARACTERS };
      const reply = await client.run(SCRIPTS.streamRead, args) as [string, 0 | 1, ...string[]] | null;
      if (reply === null) return undefined;
      const [last, ended, ...fields] = reply;
      const parts = Array.from({ length: fields.length / ENTRY_PARTS }, (_, i) => {
        const [last, run, attempt, body] = fields.slice(i * ENTRY_PARTS) as [string, string, string, string];
        return { last: Number(last), run: Number(run), attempt: Number(attempt), body };
      });
      return { parts, last: Number(last), ended: ended === 1 };
    },
  };
}

/** Returns whether a stream has chunks after a number, or has ended. */
export async function hasChunks({ client }: Context, jid: string, after: number): Promise<boolean> {
  const [entry] = await client.call(["XREVRANGE", streamKey(jid), "+", "-", "COUNT", "1"]) as [string, unknown][];
  if (entry === undefined) return false;
  const [last, isEnd] = entry[0].split("-");
  return Number(last) > after || isEnd === "1";
}
