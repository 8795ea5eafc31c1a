/**
 * The types that those of `mod.ts` are made of, for programs that name them: the parts of a store, what they take and
 * return, and the options of single calls.
 *
 * @module
 */
export type { AddToBatch, BatchServices } from "./client/batch.ts";
export type { BatchOptions } from "./client/batch_options.ts";
export type { ListRequest } from "./client/list_request.ts";
export type { Batches, BatchStatus } from "./client/batches.ts";
export type { EventOptions } from "./client/events.ts";
export type { FlowNodeInput, FlowNodes } from "./client/flow_graph.ts";
export type { FlowOptions, Flows, PushedFlow } from "./client/flows.ts";
export type { MemberFlow } from "./client/member_flow.ts";
export type { NodeState, OnDead } from "./job/flow.ts";
export type { FlowNode, FlowStore, NewNode, NodePage, NodeRequest } from "./store/port/flows.ts";
export type { BulkOptions, PushResult, RefusedPush, StoredPush } from "./client/bulk.ts";
export type { CronFilter } from "./client/crontab_edits.ts";
export type { CrontabEntry, CrontabPage } from "./client/crontab_entry.ts";
export type { MemberBatch } from "./client/member_batch.ts";
export type { BatchMiddleware, Middleware } from "./client/middleware.ts";
export type {
  BulkRequest,
  ClientStore,
  InTransaction,
  Items,
  JobInput,
  PushOptions,
  TypedJob,
} from "./client/options.ts";
export type { SignalOptions } from "./client/signal.ts";
export type { Clock } from "./clock.ts";
export type { Duration } from "./config/program_settings.ts";
export type { CronDefinition, CronSource } from "./cron/definition.ts";
export type { CronEntry } from "./cron/entry.ts";
export type { CronRecord, Occurrence, Overlap } from "./cron/occurrence.ts";
export type { CatchUp, CronState, Planned } from "./cron/plan.ts";
export type { ScheduleBounds } from "./cron/bounds.ts";
export type { ScheduleSpec, ScheduleTimes } from "./cron/schedule_spec.ts";
export type { JobTrace, Progress } from "./handlers/context.ts";
export type { Handler, HandlerExport, HandlerFunction, HandlerOptions } from "./handlers/handler.ts";
export type { BatchEvent, Counted, MemberEnd, MemberLease } from "./job/batch.ts";
export type { Backoff } from "./job/backoff.ts";
export type { JobEnd, Subscription, WebhookEvent } from "./job/webhook.ts";
export type { EventFilter, EventType } from "./job/event.ts";
export type { JobClass, JsonArgs } from "./job/definition.ts";
export type { ClassOptions, JobRequest } from "./job/payload.ts";
export type { EndpointEntry, OpenCircuit, WebhookEntry, WebhookFormat } from "./job/endpoint.ts";
export type { Program } from "./job/program.ts";
export type { EndState } from "./job/result.ts";
export type { ArgsSchema, StandardSchema } from "./job/schema/args_schema.ts";
export type { JsonSchema } from "./job/schema/json_schema.ts";
export type { Step, StepKind, StepState } from "./job/step.ts";
export type { RunningSuspects } from "./job/suspicion.ts";
export type { Log, LogFields, LogLevel, LogOptions } from "./log/log.ts";
export type { ServerOptions as WorkerOptions } from "./server/start.ts";
export type { ChildOptions, StepContext } from "./steps/context.ts";
export type { EachOptions, StepOptions, StepRun, WaitOptions } from "./steps/options.ts";
export type * from "./store/admin/admin.ts";
export type * from "./store/admin/audit.ts";
export type * from "./store/admin/health.ts";
export type * from "./store/admin/transfer.ts";
export type * from "./store/admin/sessions.ts";
export type { StoreOptions } from "./store/open.ts";
export type {
  Batch as StoredBatch,
  BatchCallback,
  BatchMember,
  BatchPage,
  BatchPageRequest,
  BatchRefusal,
  BatchState,
  BatchStore,
  ClosedAs,
  CloseResult,
  FirstBatch,
  MemberChange,
  MemberCount,
  NewBatch,
  Tended,
} from "./store/port/batches.ts";
export type * from "./store/port/classes.ts";
export type * from "./store/port/webhooks.ts";
export type * from "./store/port/events.ts";
export type * from "./store/port/cron.ts";
export type { StoreErrorCode } from "./store/port/errors.ts";
export type * from "./store/port/entries.ts";
export type * from "./store/port/groups.ts";
export type * from "./store/port/history.ts";
export type * from "./store/port/jobs.ts";
export type * from "./store/port/outcomes.ts";
export type { LimitInfo, QueueLimit, StartLimit } from "./store/port/limits.ts";
export type * from "./store/port/logs.ts";
export type * from "./store/port/metrics.ts";
export type * from "./store/port/queue_samples.ts";
export type * from "./store/port/results.ts";
export type * from "./store/port/steps.ts";
export type * from "./store/port/series.ts";
export type * from "./store/port/streams.ts";
export type * from "./store/port/transactions.ts";
export type { ServerStore } from "./store/port/store.ts";
export type * from "./store/port/watch.ts";
export type * from "./store/port/workers.ts";
export type { Carrier, Tracing, TracingOptions } from "./tracing/tracing.ts";
