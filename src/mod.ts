/**
 * The library's front door: what a program that imports `jobs` may use.
 *
 * Push jobs with {@linkcode Client}; perform them with {@linkcode startServer}; define them, typed, with
 * {@linkcode defineJob}.
 *
 * @module
 */
export * from "./client/client.ts";
export * from "./job/errors.ts";
export * from "./middleware/chain.ts";
export { defineJob } from "./handlers/handler.ts";
export type { HandlerFunction, HandlerOptions, JobDefinition } from "./handlers/handler.ts";
export { HandlerError, Registry } from "./handlers/registry.ts";
export type { JobContext, Progress } from "./handlers/context.ts";
export { type Server, type ServerOptions, startServer } from "./server/start.ts";
export type { Hooks } from "./server/hooks.ts";
export { type OpenStore, openStore, type StoreOptions } from "./store/open.ts";
export { StoreError, type StoreErrorCode } from "./store/errors.ts";
export type { Settings } from "./config.ts";
