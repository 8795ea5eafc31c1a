/**
 * The library: what a program imports from `jobs`.
 *
 * Push jobs with {@linkcode Client}; perform them with {@linkcode startServer}; define them, typed, with
 * {@linkcode defineJob}. `jobs/testing` has what tests of handlers use. `jobs/types` has the types that these are made of.
 *
 * @module
 */
export { Batch } from "./client/batch.ts";
export { BatchError } from "./client/batch_errors.ts";
export { BulkInterrupted } from "./client/bulk.ts";
export { Client } from "./client/client.ts";
export { Crontab } from "./client/crontab.ts";
export type { PushMiddleware } from "./client/middleware.ts";
export type { ClientOptions } from "./client/options.ts";
export { ConfigError } from "./config/load.ts";
export type { ServerSettings } from "./config/program_settings.ts";
export { CrontabError } from "./cron/crontab.ts";
export { type CronEntryInput, defineCron } from "./cron/entry.ts";
export { type ServerOptions, startServer } from "./embed/start.ts";
export type { JobContext } from "./handlers/context.ts";
export { defineJob, type JobDefinition, type PerformMiddleware } from "./handlers/handler.ts";
export { HandlerError, Registry } from "./handlers/registry.ts";
export {
  Cancelled,
  Discard,
  InvalidPayload,
  Kill,
  LeaseLost,
  Shutdown,
  Snooze,
  Timeout,
  WorkerDied,
} from "./job/errors.ts";
export type { JobEvent } from "./job/event.ts";
export type { Payload } from "./job/job.ts";
export type { JobOptions } from "./job/payload.ts";
export type { EndedJob } from "./job/result.ts";
export { LogError } from "./log/log.ts";
export type { Hooks } from "./handlers/hooks.ts";
export type { Server } from "./server/start.ts";
export { ChildFailed, StepError, StepFailed } from "./steps/errors.ts";
export type { Store } from "./store/admin/store.ts";
export { openStore } from "./store/open.ts";
export { StoreError } from "./store/port/errors.ts";
export type { Transaction } from "./job/transaction.ts";
export { openTracing } from "./tracing/tracing.ts";
