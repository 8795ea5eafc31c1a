/**
 * Samples of queues: a row per queue and time step.
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
import type { Context } from "./context.ts";

const ADD = `INSERT INTO queue_sample (step, at, queue, size, latency) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT DO UPDATE SET size = max(size, excluded.size), latency = max(latency, excluded.latency)`;
const READ = "SELECT at, queue, size, latency FROM queue_sample WHERE step = ? AND at >= ? AND at < ?";

/** Steps per read: at most 50 queues each, some milliseconds. */
const SLICE_STEPS = 48;

/** Returns the part. */
export function queueSamplesPart(context: Context): QueueSampler {
  return {
    record: (samples) => record(context, samples),
    read: (window) => readSeries(context, window),
  };
}

/** See `QueueSampler.record`. */
async function record({ sql, now, commit }: Context, samples: readonly QueueSample[]): Promise<void> {
  if (samples.length === 0) return;
  const kept = keptSamples(samples);
  await commit.run(() => {
    for (const { stepMs, keptMs } of SAMPLE_STEPS) {
      sql("DELETE FROM queue_sample WHERE step = ? AND at < ?").run(stepMs, now() - keptMs);
      const at = Math.floor(now() / stepMs) * stepMs;
      for (const { queue, size, latencyMs } of kept) sql(ADD).run(stepMs, at, queue, size, Math.round(latencyMs));
    }
  }, { rows: SAMPLE_STEPS.length * kept.length });
}

/** See `QueueSampler.read`. Yields to the event loop between slices. */
async function readSeries({ sql, read, now, turn }: Context, window: SampleWindow): Promise<QueueSeries[]> {
  const { stepMs } = SAMPLE_WINDOWS[window];
  const steps = sampleSteps(window, now());
  const series = new SeriesBuilder(steps.length);
  const first = steps[0]!;
  for (let i = 0; i < steps.length; i += SLICE_STEPS) {
    const from = first + i * stepMs;
    const rows = await read(() => sql(READ).all(stepMs, from, from + SLICE_STEPS * stepMs));
    for (const { at, queue, size, latency } of rows) {
      const step = (Number(at) - first) / stepMs;
      series.add(step, { queue: String(queue), size: Number(size), latencyMs: Number(latency) });
    }
    await turn();
  }
  return series.list();
}
