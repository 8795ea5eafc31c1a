/**
 * The outbox as a component of a worker: its relay is loaded only if an outbox is configured.
 *
 * @module
 */
import type { Client } from "../../client/client.ts";
import type { Clock } from "../../clock.ts";
import type { Settings } from "../../config/settings.ts";
import { openOutbox } from "../../store/open_outbox.ts";
import type { OutboxRecord } from "../../store/port/workers.ts";
import { type Component, type Loop, type LoopBody, ShutdownBudget } from "../component.ts";
import type { Log } from "../../log/log.ts";
import type { Relay } from "./relay.ts";

/** How long a stop waits for the database. The rows of an unfinished batch are pushed again, each job once. */
const STOP_MS = 500;

export interface OutboxOptions {
  readonly url: string;
  readonly client: Client;
  readonly settings: Settings;
  readonly clock: Clock;
  readonly log: Log;
  readonly loop: <Body extends LoopBody<unknown>>(body: Body) => Loop<Body>;
}

export class OutboxComponent implements Component {
  readonly name = "outbox";
  readonly #options: OutboxOptions;
  #relay: Loop<Relay> | undefined;

  constructor(options: OutboxOptions) {
    this.#options = options;
  }

  /** For the worker's heartbeat; undefined before the start. */
  get record(): OutboxRecord | undefined {
    return this.#relay?.body.record;
  }

  async start(): Promise<void> {
    if (this.#relay) return;
    const { url, client, settings: { maxPayloadBytes }, clock, log, loop } = this.#options;
    const { Relay } = await import("./relay.ts");
    const outbox = await openOutbox(url);
    this.#relay = loop(new Relay({ outbox, client, maxPayloadBytes, clock, log }) as never) as Loop<Relay>;
    this.#relay.start();
  }

  /** Starts it in a process that runs already: an invalid address is logged. */
  async startLate(): Promise<void> {
    try {
      await this.start();
    } catch (error) {
      this.#options.log.error("Outbox can't be opened", { error: (error as Error).message });
    }
  }

  /** A frozen database of an application must not use up the time in which the worker leaves its store. */
  async stop(budget?: ShutdownBudget): Promise<void> {
    await this.#relay?.stop(budget && new ShutdownBudget(this.#options.clock, STOP_MS));
  }
}
