/**
 * The client of a command that pushes.
 *
 * @module
 */
import { BatchError } from "../../client/batch_errors.ts";
import { Client } from "../../client/client.ts";
import { Crontab } from "../../client/crontab.ts";
import type { Settings } from "../../config/settings.ts";
import { InvalidPayload } from "../../job/errors.ts";
import { decodeText } from "../../job/utf8.ts";
import { type Action, type ClientTools, Refused } from "../../operator/actions/action.ts";
import type { Document } from "../../operator/actions/inputs.ts";
import type { Store } from "../../store/admin/store.ts";
import { unregisteredText } from "../../text/classes.ts";
import { UsageError } from "../terminal/errors.ts";
import { printError } from "../terminal/output.ts";
import { actHere } from "./act.ts";
import type { ClientTracing } from "./tracing.ts";

/** The settings of a command's client. */
export interface CommandClient {
  readonly settings: Settings;
  readonly tracing: ClientTracing;
  /** Rejects classes that no worker has registered. Default: a warning. */
  readonly strict?: boolean;
}

/**
 * Returns a client.
 *
 * @param effect the effect of a class that no worker has registered, as part of a sentence
 */
export function clientOf(
  store: Store,
  { settings: { maxPayloadBytes, sidekiqWire }, tracing, strict = false }: CommandClient,
  effect: string,
): Client {
  const onUnregistered = (name: string, meant?: string) => printError(`jobs: ${unregisteredText(name, effect, meant)}`);
  return new Client({ store, strict, maxPayloadBytes, sidekiqWire, onUnregistered, ...tracing });
}

/**
 * Returns the text of a file; `-` is standard input.
 *
 * @throws {UsageError} if it can't be read, or isn't UTF-8
 */
export async function readDefinition(file: string): Promise<string> {
  try {
    return decodeText(file === "-" ? await new Response(Deno.stdin.readable).bytes() : await Deno.readFile(file));
  } catch (error) {
    // Deno appends the number of the error and the path.
    throw new UsageError(`Cannot read "${file}": ${(error as Error).message.replace(/ \(os error.*/s, "")}`);
  }
}

/**
 * Pushes a batch or a flow that a user wrote.
 *
 * @throws {UsageError} if it is invalid
 */
export async function pushDefinition<Out>(
  kind: "batch" | "flow",
  store: Store,
  action: Action<Document<string>, Out, ClientTools>,
  document: Document<string>,
  client: Client,
): Promise<Out> {
  try {
    return await actHere(store, action, document, { parts: { client, crontab: new Crontab({ store, client }) } });
  } catch (error) {
    const cause = error instanceof Refused ? error.cause : undefined;
    if (cause instanceof InvalidPayload) throw new UsageError(`Invalid ${kind}: ${cause.message}`);
    if (cause instanceof BatchError) throw new UsageError(cause.message);
    throw error;
  }
}
