/**
 * The store contract: the behaviour of every store. Each adapter runs the same cases.
 *
 * @module
 */
import { asideCases } from "./asides.ts";
import { audit } from "./audit.ts";
import { batches } from "./batches.ts";
import { batchesMoving } from "./batches_moving.ts";
import { batchesRandom } from "./batches_random.ts";
import { bytes } from "./bytes.ts";
import { claim } from "./worker_names.ts";
import { classes } from "./classes.ts";
import { commands } from "./commands.ts";
import { counts } from "./counts.ts";
import { cancelled } from "./cancelled.ts";
import { cron } from "./cron.ts";
import { debounce } from "./debounce.ts";
import { edit } from "./edit.ts";
import { enqueue } from "./enqueue.ts";
import { events } from "./events.ts";
import { exactlyOnce } from "./exactly_once.ts";
import type { Cases, OpenTestStore } from "./harness.ts";
import { flowKeys } from "./flow_keys.ts";
import { findings } from "./findings.ts";
import { flows } from "./flows.ts";
import { groups } from "./groups.ts";
import { health } from "./health.ts";
import { large } from "./large.ts";
import { largeFlows } from "./large_flows.ts";
import { limits } from "./limits.ts";
import { measures } from "./metrics.ts";
import { offline } from "./offline.ts";
import { once } from "./once.ts";
import { pages } from "./pages.ts";
import { pause } from "./pause.ts";
import { workers } from "./workers.ts";
import { queueSamples } from "./queue_samples.ts";
import { promote } from "./promote.ts";
import { replace } from "./replace.ts";
import { rescue } from "./rescue.ts";
import { results } from "./results.ts";
import { search } from "./search.ts";
import { sessions } from "./sessions.ts";
import { settle } from "./settle.ts";
import { steps } from "./steps.ts";
import { streams } from "./streams.ts";
import { take } from "./take.ts";
import { throttle } from "./throttle.ts";
import { transfer } from "./transfer.ts";
import { unique } from "./unique.ts";
import { wait } from "./wait.ts";
import { webhooks } from "./webhooks.ts";

const CASES: Readonly<Record<string, Cases>> = {
  enqueue,
  take,
  settle,
  promote,
  rescue,
  cancelled,
  offline,
  workers,
  claim,
  unique,
  once,
  debounce,
  throttle,
  replace,
  bytes,
  wait,
  commands,
  large,
  limits,
  groups,
  asides: asideCases,
  pause,
  counts,
  pages,
  search,
  edit,
  cron,
  audit,
  sessions,
  results,
  classes,
  measures,
  "queue samples": queueSamples,
  steps,
  streams,
  batches,
  "batches at random": batchesRandom,
  "batches in motion": batchesMoving,
  flows,
  flowKeys,
  "large flows": largeFlows,
  health,
  "exactly once": exactlyOnce,
  transfer,
  webhooks,
  events,
  findings,
};

/** The themes of the contract. */
export const THEMES: readonly string[] = Object.keys(CASES);

/** Those with many jobs, which take some seconds each on a server. */
export const LARGE_THEMES: readonly string[] = [
  ...["large flows", "flowKeys", "flows", "batches at random", "batches in motion"],
  ...["measures", "exactly once", "large"],
];

/** Registers the cases as tests of the adapter called `name`: all, or those of some themes. */
export function storeContract(name: string, open: OpenTestStore, themes = THEMES): void {
  for (const theme of themes) {
    const cases = CASES[theme]!;
    for (const [what, run] of Object.entries(cases)) {
      Deno.test(`${name}: ${theme}: ${what}`, () => run(open));
    }
  }
}
