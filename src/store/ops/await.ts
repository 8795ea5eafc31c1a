/**
 * Loops of watch and read (`port/watch.ts`). Each ends when its signal aborts or the store closes, and rejects only if a read does.
 *
 * @module
 */
import type { ResultStore } from "../port/results.ts";
import type { ServerStore } from "../port/store.ts";
import type { Command, Mailbox } from "../port/workers.ts";

/** Resolves with the record of a job as soon as it exists; undefined when `signal` aborts first. */
export async function awaitResult(
  store: Pick<ServerStore, "watch"> & { readonly results: Pick<ResultStore, "read"> },
  jid: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  while (await store.watch({ result: jid }, signal)) {
    const record = (await store.results.read({ jids: [jid] })).records[0];
    if (record !== undefined) return record;
  }
  return undefined;
}

/** Resolves with the commands sent to a worker, at least one; with none when `signal` aborts. */
export async function receiveCommands(
  store: Pick<ServerStore, "watch" | "workers">,
  worker: string,
  signal: AbortSignal,
): Promise<Command[]> {
  return (await collect(store, { commandsTo: worker }, signal)).map((text) => JSON.parse(text) as Command);
}

/** Resolves with the reply to a command; undefined when `signal` aborts. */
export async function awaitReply(
  store: Pick<ServerStore, "watch" | "workers">,
  id: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  return (await collect(store, { replyTo: id }, signal))[0];
}

async function collect(
  store: Pick<ServerStore, "watch" | "workers">,
  box: Mailbox,
  signal: AbortSignal,
): Promise<string[]> {
  while (await store.watch(box, signal)) {
    const texts = await store.workers.collect(box);
    if (texts.length > 0) return texts;
  }
  return [];
}
