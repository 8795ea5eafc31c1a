/**
 * The library: everything that a program may import from `jobs`.
 *
 * Push jobs with {@linkcode Client}; perform them with {@linkcode startServer}; define them, typed, with
 * {@linkcode defineJob}.
 *
 * @module
 */
export * from "./client/client.ts";
export { type AddToBatch, Batch, type BatchServices } from "./client/batch.ts";
export { BatchError } from "./client/batch_errors.ts";
export type { BatchOptions } from "./client/batch_options.ts";
export { Batches, type BatchStatus } from "./client/batches.ts";
export { MemberBatch } from "./client/member_batch.ts";
export type {
  Batch as StoredBatch,
  BatchCallback,
  BatchMember,
  BatchPage,
  BatchRefusal,
  BatchState,
  BatchStore,
  BatchSweep,
  ClosedAs,
  CloseResult,
  MemberChange,
  NewBatch,
} from "./store/port/batches.ts";
export type { BatchEvent, Counted, MemberEnd } from "./job/batch.ts";
export type { SignalOptions } from "./client/signal.ts";
export type { Step, StepKind, StepState } from "./job/step.ts";
export { CAUSES, type Described, describeError, showValue } from "./job/describe_error.ts";
export * from "./job/errors.ts";
export type { JobClass, JsonArgs } from "./job/definition.ts";
export type { EndedJob, EndState } from "./job/result.ts";
export type { Payload } from "./job/job.ts";
export type { RunningSuspects } from "./job/suspicion.ts";
export * from "./client/middleware.ts";
export { defineJob } from "./handlers/handler.ts";
export type {
  Handler,
  HandlerExport,
  HandlerFunction,
  HandlerOptions,
  JobDefinition,
  PerformMiddleware,
} from "./handlers/handler.ts";
export type { ChildOptions, StepContext } from "./steps/context.ts";
export type { EachOptions, StepOptions, StepRun, WaitOptions } from "./steps/options.ts";
export { ChildFailed, StepError, StepFailed } from "./steps/errors.ts";
export { type TestedHandler, TestJob, testJob, type TestJobOptions, type TestState } from "./testing/test_job.ts";
export {
  context,
  FakeClient,
  fakeClient,
  type FakeClientOptions,
  type PushedJob,
  type TestContextOptions,
} from "./testing/fake_client.ts";
export { ConfigError } from "./config/load.ts";
export { HandlerError, Registry } from "./handlers/registry.ts";
export type { JobContext, JobTrace, Progress } from "./handlers/context.ts";
export type { Server, ServerOptions as WorkerOptions } from "./server/start.ts";
export { type ServerOptions, startServer } from "./embed/start.ts";
export type { Hooks } from "./server/hooks.ts";
export { type CronEntryInput, defineCron } from "./cron/entry.ts";
export { CrontabError } from "./cron/crontab.ts";
export { Crontab, type CrontabEntry } from "./client/crontab.ts";
export type { CronEntry } from "./cron/entry.ts";
export type { CronDefinition, CronSource } from "./cron/definition.ts";
export type { CronRecord, Occurrence, Overlap } from "./cron/occurrence.ts";
export type { CatchUp, CronState, Planned } from "./cron/plan.ts";
export type { ScheduleSpec } from "./cron/schedule_spec.ts";
export type * from "./store/port/cron.ts";
export { openStore, type StoreOptions } from "./store/open.ts";
export type { Store } from "./store/admin/store.ts";
export type { ServerStore } from "./store/port/store.ts";
export type * from "./store/port/workers.ts";
export type * from "./store/port/jobs.ts";
export type * from "./store/admin/admin.ts";
export type * from "./store/admin/migration.ts";
export type * from "./store/admin/audit.ts";
export type * from "./store/admin/health.ts";
export type * from "./store/admin/history.ts";
export type * from "./store/port/groups.ts";
export type { LimitInfo, QueueLimit, StartLimit } from "./store/port/limits.ts";
export type * from "./store/port/classes.ts";
export type * from "./store/port/metrics.ts";
export type * from "./store/port/results.ts";
export type * from "./store/port/steps.ts";
export { CursorError } from "./store/port/cursor.ts";
export * from "./store/port/errors.ts";
export type { Duration, ServerSettings } from "./config/program_settings.ts";
export { type Clock, systemClock } from "./clock.ts";
export { type Carrier, openTracing, type Tracing, type TracingOptions } from "./tracing/tracing.ts";
export type { Program } from "./job/program.ts";
export { type Log, LogError, type LogFields, type LogLevel, type LogOptions } from "./log/log.ts";
