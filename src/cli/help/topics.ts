/**
 * `jobs help TOPIC` for what is no command: a few words, and a short text that is loaded when asked for.
 *
 * @module
 */

/** A topic: what it is about, in a few words, and its text. */
export type Topic = readonly [about: string, load: () => Promise<string>];

/** The topics by name. */
export const TOPICS: Readonly<Record<string, Topic>> = {
  queues: ["which jobs are taken first; pausing and clearing", texts("queues")],
  retries: ["what becomes of a job that fails", texts("retries")],
  handlers: ["the code that performs jobs", texts("handlers")],
  cron: ["rules, and what is enqueued by the clock", texts("cron")],
  stores: ["where jobs are kept, and how safely", texts("stores")],
  signals: ["what a running process does on each", texts("signals")],
  configuration: ["the file, its environments, and what comes first", texts("configuration")],
  settings: ["every setting with its default", async () => (await import("./topics_settings.ts")).settingsText()],
  environment: ["every environment variable", async () => (await import("./topics_settings.ts")).environmentText()],
  json: ["what --json prints, command by command", async () => (await import("./topics_json.ts")).jsonText()],
  "exit-codes": ["how a command, and a program that performs jobs, says how it went", texts("exit-codes")],
};

function texts(name: string): () => Promise<string> {
  return async () => (await import("./topics_texts.ts")).TEXTS[name]!;
}
