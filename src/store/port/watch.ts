/**
 * The topics of {@linkcode ServerStore.watch}. Each is a condition, not an event: a watch resolves at once if the condition
 * holds already. So a change between a read and the watch after it is never missed, and a loop of watch and read needs no other
 * care. The read ends the condition: `take` empties the queues, `collect` the mailbox.
 *
 * @module
 */
import type { Mailbox } from "./workers.ts";

/** The subject of a watch. */
export type Topic =
  /** The earliest time in `scheduled` and `retry` is earlier than the last `promote` of this connection reported. */
  | "due"
  /** A cron entry was announced as changed since the last survey of this connection (`cron.ts`). */
  | "cron"
  /** One of the queues has work for a worker with these classes (`TakeRequest.classes`). */
  | { readonly work: readonly string[]; readonly classes?: readonly string[] | undefined }
  /** A record of the job is kept, by its jid. */
  | { readonly result: string }
  /** The stream of the job has chunks after this number, or has ended. */
  | { readonly stream: string; readonly after: number }
  /** There are events after this ID. */
  | { readonly events: number }
  /** The mailbox isn't empty. */
  | Mailbox;
