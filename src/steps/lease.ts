/**
 * Connects step runners to the store, under the leases of a worker's jobs.
 *
 * @module
 */
import type { Client } from "../client/client.ts";
import type { Clock } from "../clock.ts";
import type { ServerStore } from "../store/port/store.ts";
import { StepRunner } from "./runner.ts";
import type { AroundStep, StepJob } from "./services.ts";

/** The services that the steps of a worker's jobs share. */
export interface StepOptions {
  readonly store: Pick<ServerStore, "steps">;
  /** The worker ID. */
  readonly worker: string;
  readonly clock: Clock;
  /** Builds children. */
  readonly client: Pick<Client, "build">;
  /** Runs the functions of steps. Default: calls them. */
  readonly around?: AroundStep;
}

/** Returns a function that creates the step runner of a job, for the token of its lease. */
export function stepRunners(options: StepOptions): (job: StepJob, token: string) => StepRunner {
  const { store, worker, clock, client, around } = options;
  const build = client.build.bind(client);
  return (job, token) => {
    const { jid } = job;
    const lease = { worker, token, jid };
    return new StepRunner(job, {
      clock,
      build,
      ...(around !== undefined && { around }),
      steps: {
        read: () => store.steps.read(jid),
        remember: (step) => store.steps.remember(lease, step),
        wait: (wait) => store.steps.wait(lease, wait),
      },
    });
  };
}
