/**
 * Samples of queues: one hash per time step, `jobs:queue-samples:STEP:SECOND`, with the fields `size|QUEUE` and
 * `latency|QUEUE`.
 *
 * @module
 */
import {
  keptSamples,
  type QueueSample,
  type QueueSampler,
  type QueueSeries,
  SAMPLE_STEPS,
  SAMPLE_WINDOWS,
  sampleSteps,
  type SampleWindow,
  SeriesBuilder,
} from "../admin/queue_samples.ts";
import { SCRIPTS } from "./client/scripts.ts";
import { type Context, serverTime } from "./context.ts";

/** Steps read at the same time. */
const MAX_STEPS_IN_FLIGHT = 48;

/** Returns the part. */
export function queueSamplesPart(context: Context): QueueSampler {
  return {
    record: (samples) => record(context, samples),
    read: (window) => readSeries(context, window),
  };
}

/** See `QueueSampler.record`. Sending a sample twice changes nothing. */
async function record(context: Context, samples: readonly QueueSample[]): Promise<void> {
  if (samples.length === 0) return;
  const now = await serverTime(context);
  const keys = SAMPLE_STEPS.map(({ stepMs }) => keyOf(stepMs, Math.floor(now / stepMs) * stepMs));
  const kept = SAMPLE_STEPS.map(({ keptMs }) => `${keptMs / 1_000}`);
  const values = keptSamples(samples).flatMap(({ queue, size, latencyMs }) => [
    ...["size|" + queue, `${size}`],
    ...["latency|" + queue, `${Math.round(latencyMs)}`],
  ]);
  await context.client.run(SCRIPTS.sampleQueues, keys, [...kept, ...values]);
}

/** See `QueueSampler.read`. */
async function readSeries(context: Context, window: SampleWindow): Promise<QueueSeries[]> {
  const { stepMs } = SAMPLE_WINDOWS[window];
  const steps = sampleSteps(window, await serverTime(context));
  const series = new SeriesBuilder(steps.length);
  const readStep = async (at: number, step: number) => {
    const fields = await context.client.call(["HGETALL", keyOf(stepMs, at)]) as Record<string, string>;
    for (const [field, size] of Object.entries(fields)) {
      if (!field.startsWith("size|")) continue;
      const queue = field.slice("size|".length);
      series.add(step, { queue, size: Number(size), latencyMs: Number(fields[`latency|${queue}`] ?? 0) });
    }
  };
  for (let from = 0; from < steps.length; from += MAX_STEPS_IN_FLIGHT) {
    await Promise.all(steps.slice(from, from + MAX_STEPS_IN_FLIGHT).map((at, i) => readStep(at, from + i)));
  }
  return series.list();
}

function keyOf(stepMs: number, at: number): string {
  return `jobs:queue-samples:${stepMs / 1_000}:${at / 1_000}`;
}
