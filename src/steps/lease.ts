/**
 * Connects step runners to the store, under the leases of a worker's jobs.
 *
 * @module
 */
import type { Client } from "../client/client.ts";
import type { Clock } from "../clock.ts";
import type { ServerStore } from "../store/port/store.ts";
import type { NewWait, StepLease, StepStore, StoredStep, Wait } from "../store/port/steps.ts";
import { StepRunner } from "./runner.ts";
import type { AroundStep, LeaseSteps, StepJob, StepOutage } from "./services.ts";

/** The services that the steps of a worker's jobs share. */
export interface StepOptions {
  readonly store: Pick<ServerStore, "steps">;
  readonly worker: string;
  readonly clock: Clock;
  readonly client: Pick<Client, "build">;
  /** Runs the functions of steps. Default: calls them. */
  readonly around?: AroundStep;
  /** Receives the failures of the store. Default: they are not reported. */
  readonly outage?: StepOutage;
}

/** Returns a function that creates the step runner of a job, for the token of its lease. */
export function stepRunners(options: StepOptions): (job: StepJob, token: string) => StepRunner {
  const { store, worker, clock, client, around, outage } = options;
  const build = client.build.bind(client);
  return (job, token) => {
    const { jid } = job;
    return new StepRunner(job, {
      clock,
      build,
      ...(around !== undefined && { around }),
      ...(outage !== undefined && { outage }),
      steps: new StepsOfLease(store.steps, { worker, token, jid }),
    });
  };
}

class StepsOfLease implements LeaseSteps {
  readonly #steps: StepStore;
  readonly #lease: StepLease;

  constructor(steps: StepStore, lease: StepLease) {
    this.#steps = steps;
    this.#lease = lease;
  }

  read(): Promise<StoredStep[]> {
    return this.#steps.read(this.#lease.jid);
  }

  remember(step: StoredStep): Promise<string | undefined> {
    return this.#steps.remember(this.#lease, step);
  }

  wait(wait: NewWait): Promise<Wait | undefined> {
    return this.#steps.wait(this.#lease, wait);
  }
}
