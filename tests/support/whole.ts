/**
 * Whether tests with thousands of cases run all of them, as each night (`make test-long WHOLE=1`), or a share.
 *
 * @module
 */
export const IS_WHOLE: boolean = (Deno.env.get("WHOLE") ?? "") !== "";
