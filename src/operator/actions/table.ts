/**
 * All actions.
 *
 * @module
 */
import type { AnyAction } from "./action.ts";
import { batchActions } from "./batches.ts";
import { cronActions } from "./cron.ts";
import { cronBulkActions } from "./cron_bulk.ts";
import { jobActions } from "./jobs.ts";
import { pushActions } from "./pushes.ts";
import { queueActions } from "./queues.ts";
import { stepActions } from "./steps.ts";
import { workerActions } from "./workers.ts";

/** The actions, in the order of the API's document. */
export const ACTIONS: readonly AnyAction[] = [
  ...jobActions,
  ...pushActions,
  ...queueActions,
  ...workerActions,
  ...stepActions,
  ...batchActions,
  ...cronActions,
  ...cronBulkActions,
];
