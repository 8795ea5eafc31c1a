/**
 * Tests of handlers without a worker and without waiting: `jobs/testing`. They run on SQLite in memory, as in production.
 *
 *  - {@linkcode fakeClient} stores jobs in memory, and runs them on a clock that it moves itself.
 *  - {@linkcode context} is the context for calling one handler directly.
 *  - {@linkcode testJob} runs one job with durable steps, attempt by attempt.
 *
 * @module
 */
export {
  context,
  FakeClient,
  fakeClient,
  type FakeClientOptions,
  type PushedJob,
  type TestContextOptions,
} from "./fake_client.ts";
export { type TestedHandler, TestJob, testJob, type TestJobOptions, type TestState } from "./test_job.ts";
