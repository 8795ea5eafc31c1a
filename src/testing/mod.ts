/**
 * Tests of handlers without a store and without waiting: `jobs/testing`.
 *
 *  - {@linkcode fakeClient} keeps what is pushed in memory, and runs it on a clock that it moves itself.
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
