/**
 * The output of every command with `--json`. docs/reference/json.md is generated from this table, and a test checks each
 * command against it. Fields stay, with their meaning; new ones may be added.
 *
 * @module
 */
import type { Shape } from "./json_shape.ts";
import { BATCH_SHAPES } from "./json_shapes_batches.ts";
import { CHANGE_SHAPES } from "./json_shapes_changes.ts";
import { CRON_SHAPES } from "./json_shapes_cron.ts";
import { FLOW_SHAPES } from "./json_shapes_flows.ts";
import { JOB_SHAPES } from "./json_shapes_jobs.ts";
import { STATE_SHAPES } from "./json_shapes_state.ts";
import { STEP_SHAPES } from "./json_shapes_steps.ts";
import { UPKEEP_SHAPES } from "./json_shapes_upkeep.ts";

/** The table, by command in the order of `jobs help`. */
export const SHAPES: readonly Shape[] = [
  ...JOB_SHAPES,
  ...CRON_SHAPES,
  ...STATE_SHAPES,
  ...CHANGE_SHAPES,
  ...BATCH_SHAPES,
  ...FLOW_SHAPES,
  ...STEP_SHAPES,
  ...UPKEEP_SHAPES,
];
