/**
 * Steps on the store, for the lease of one job.
 *
 * @module
 */
import type { Client } from "../client/client.ts";
import type { Clock } from "../clock.ts";
import type { ServerStore } from "../store/port/store.ts";
import { StepRunner } from "./runner.ts";
import type { StepJob } from "./services.ts";

/** What the steps of a worker's jobs share. */
export interface StepOptions {
  readonly store: Pick<ServerStore, "steps">;
  /** The worker. */
  readonly owner: string;
  readonly clock: Clock;
  /** Builds children. */
  readonly client: Pick<Client, "build">;
}

/** Returns what makes the runner of a job's steps, for the token of its lease. */
export function stepRunners(options: StepOptions): (job: StepJob, token: string) => StepRunner {
  const { store, owner, clock, client } = options;
  const build = client.build.bind(client);
  return (job, token) => {
    const { jid } = job;
    const lease = { owner, token, jid };
    return new StepRunner(job, {
      clock,
      build,
      steps: {
        read: () => store.steps.read(jid),
        remember: (step) => store.steps.remember(lease, step),
        wait: (wait) => store.steps.wait(lease, wait),
      },
    });
  };
}
