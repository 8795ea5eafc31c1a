/**
 * What every command prints with `--json`: the table that docs/reference/json.md is made from, and that a test holds each command
 * to. A field that is in it stays, with its meaning; new ones may come.
 *
 * @module
 */
import type { Shape } from "./json_shape.ts";
import { CHANGE_SHAPES } from "./json_shapes_changes.ts";
import { CRON_SHAPES } from "./json_shapes_cron.ts";
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
  ...STEP_SHAPES,
  ...UPKEEP_SHAPES,
];
