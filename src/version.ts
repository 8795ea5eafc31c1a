/**
 * The version, as `deno.json` says it.
 *
 * @module
 */
import config from "../deno.json" with { type: "json" };

/** For example `0.1.0`. */
export const VERSION: string = config.version;
