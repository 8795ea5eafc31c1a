/**
 * The relay: pushes the committed rows of an application's outbox.
 *
 *  1. Each job has the ID `outbox:UUID` of its row, so that a row that is pushed twice is stored once.
 *  2. A row that can't be read, pushed or deleted is kept with the reason, and doesn't affect the others.
 *  3. If the database fails, the relay waits and tries again; the worker continues.
 *
 * @module
 */
import { BulkInterrupted, type Client, type JobRequest } from "../../client/client.ts";
import { jobIn } from "../../client/json_object.ts";
import type { Clock } from "../../clock.ts";
import { parseJobText } from "../../job/json_args.ts";
import { isOn } from "../../job/push_keys.ts";
import type { Log } from "../../log/log.ts";
import { StoreError } from "../../store/port/errors.ts";
import type { Outbox, OutboxRow } from "../../store/port/outbox.ts";
import type { OutboxRecord } from "../../store/port/workers.ts";
import type { LoopBody } from "../component.ts";

/** A batch is one transaction of the database and one call to the store. */
const MAX_ROWS = 1_000;
const MAX_BYTES = 4 * 1024 * 1024;
/** Finds rows of which no notification arrived. */
const POLL_MS = 2_000;
/** Interval between counts of the rows. */
const COUNT_INTERVAL_MS = 10_000;
/** The pause after a failure of the database, doubled after each further one. */
const FIRST_BACKOFF_MS = 250;
const MAX_BACKOFF_MS = 15_000;
/** Reasons of refused rows that are logged of each batch. */
const MAX_LOGGED = 5;

export interface RelayOptions {
  readonly outbox: Outbox;
  readonly client: Client;
  readonly maxPayloadBytes: number;
  readonly clock: Clock;
  readonly log: Log;
}

/** `more`: there may be more rows. `down`: the database failed. */
export type RelayResult = "more" | "idle" | "down";

export class Relay implements LoopBody<RelayResult> {
  readonly name = "outbox";
  readonly #options: RelayOptions;
  #record: OutboxRecord = { waiting: 0, refused: 0, pushed: 0 };
  #countedAt = -Infinity;
  #failures = 0;
  #wake = () => {};
  #isAwake = false;
  #stopListening: (() => Promise<void>) | undefined;

  constructor(options: RelayOptions) {
    this.#options = options;
  }

  /** For the worker's heartbeat. */
  get record(): OutboxRecord {
    return this.#record;
  }

  /** Pushes one batch. */
  async step(): Promise<RelayResult> {
    const { outbox, maxPayloadBytes } = this.#options;
    this.#isAwake = false;
    let storeFailure: { readonly error: unknown } | undefined;
    // The text of a job may have spaces that its payload doesn't have.
    const bounds = { rows: MAX_ROWS, bytes: MAX_BYTES, jobBytes: 2 * maxPayloadBytes };
    const refusals: Refusal[] = [];
    const kept: Refusal[] = [];
    try {
      const taken = await outbox.relay(bounds, async (rows) => {
        try {
          const errors = await this.#push(rows);
          for (const [i, { number }] of rows.entries()) {
            if (errors[i] !== undefined) refusals.push({ number, error: errors[i] });
          }
          return errors;
        } catch (error) {
          storeFailure = { error };
          throw error;
        }
      }, (number, error) => kept.push({ number, error }));
      this.#logRefusals([...refusals, ...kept]);
      this.#record = { ...this.#record, pushed: this.#record.pushed + taken - refusals.length };
      await this.#count(refusals.length + kept.length > 0);
      this.#noteUp();
      // The call looks for rows that were committed before.
      this.#stopListening ??= outbox.listen(() => {
        this.#isAwake = true;
        this.#wake();
      });
      return taken + kept.length > 0 ? "more" : "idle";
    } catch (error) {
      if (storeFailure !== undefined) throw storeFailure.error;
      if (!(error instanceof StoreError)) throw error;
      this.#noteDown(error);
      return "down";
    }
  }

  async rest(result: RelayResult, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    if (result === "more") return;
    if (result === "down") {
      const backoff = Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (this.#failures - 1));
      return await clock.sleep(backoff * (0.5 + Math.random()), signal);
    }
    const woken = new AbortController();
    this.#wake = () => woken.abort();
    if (!this.#isAwake) await clock.sleep(POLL_MS, AbortSignal.any([signal, woken.signal]));
  }

  async end(): Promise<void> {
    await this.#stopListening?.();
    await this.#options.outbox[Symbol.asyncDispose]();
  }

  /** Closes the connections to a database that doesn't answer. */
  abandon(): void {
    void this.#options.outbox[Symbol.asyncDispose]().then(undefined, () => {});
  }

  /** Pushes rows, and returns for each the reason if it is refused. */
  async #push(rows: readonly OutboxRow[]): Promise<(string | undefined)[]> {
    const { client, maxPayloadBytes } = this.#options;
    const errors: (string | undefined)[] = rows.map(() => undefined);
    const requests: JobRequest[] = [];
    const places: number[] = [];
    for (const [i, { id, job }] of rows.entries()) {
      try {
        if (job === undefined) throw new Error(`Job too large: expected a payload of at most ${maxPayloadBytes} bytes`);
        requests.push(await this.#requestOf(id, job));
        places.push(i);
      } catch (error) {
        if (error instanceof StoreError) throw error;
        errors[i] = (error as Error).message;
      }
    }
    let n = 0;
    try {
      for await (const result of client.pushMany(requests)) {
        const at = places[n++]!;
        // The job of a row whose deletion was lost has the ID; its class may have another queue now.
        const isStored = result.kind !== "refused" || result.refused.includes(keyOf(rows[at]!.id));
        if (!isStored) errors[at] = result.refused;
      }
    } catch (error) {
      throw error instanceof BulkInterrupted ? error.cause : error;
    }
    return errors;
  }

  async #requestOf(id: string, text: string): Promise<JobRequest> {
    const job = jobIn("job", parseJobText(text));
    const name = job["class"];
    const options = typeof name === "string" ? await this.#options.client.optionsOf(name) : {};
    // A debounced job has no ID: a repeated push replaces the one that waits.
    const hasKey = job["id"] !== undefined || isOn(job["debounce"] ?? options["debounce"]);
    return { ...(!hasKey && { id: keyOf(id) }), ...job } as JobRequest;
  }

  #logRefusals(refusals: readonly Refusal[]): void {
    const { log } = this.#options;
    const groups = [...Map.groupBy(refusals, ({ error }) => error)];
    for (const [error, rows] of groups.slice(0, MAX_LOGGED)) {
      log.warn("Refused rows of the outbox", { rows: rows.length, number: rows[0]!.number, error });
    }
    const others = groups.slice(MAX_LOGGED).reduce((sum, [, rows]) => sum + rows.length, 0);
    if (others > 0) log.warn("Refused rows of the outbox", { rows: others, error: "other reasons" });
  }

  async #count(now: boolean): Promise<void> {
    const { outbox, clock } = this.#options;
    if (!now && clock.monotonic() - this.#countedAt < COUNT_INTERVAL_MS) return;
    this.#countedAt = clock.monotonic();
    const { pushed } = this.#record;
    this.#record = { ...await outbox.read(), pushed };
  }

  #noteUp(): void {
    if (this.#failures > 0) this.#options.log.info("Outbox works again", { failures: this.#failures });
    this.#failures = 0;
  }

  #noteDown({ message }: StoreError): void {
    const { log, clock } = this.#options;
    if (++this.#failures > 1) return;
    this.#countedAt = -Infinity;
    this.#record = { ...this.#record, error: message, since: clock.now() };
    log.warn("Outbox failed, retrying", { error: message });
  }
}

interface Refusal {
  readonly number: number;
  readonly error: string;
}

/** The option `id` of a row's job. */
function keyOf(id: string): string {
  return `outbox:${id}`;
}
