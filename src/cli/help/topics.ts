/**
 * Topics of `jobs help TOPIC`. Each is loaded only when it is printed.
 *
 * @module
 */

/** A topic in a few words, and its text. */
export type Topic = readonly [about: string, load: () => Promise<string>];

/** The topics by name. */
export const TOPICS: Readonly<Record<string, Topic>> = {
  "queue-order": ["which jobs are fetched first; pausing and limits", texts("queue-order")],
  retries: ["what happens to a job that fails", texts("retries")],
  handlers: ["the code that runs jobs", texts("handlers")],
  "cron-syntax": ["cron expressions and entries", texts("cron-syntax")],
  stores: ["store addresses and durability", texts("stores")],
  signals: ["what a worker does on each", texts("signals")],
  configuration: ["the file, environments and precedence", texts("configuration")],
  settings: ["every setting with its default", async () => (await import("./topics_settings.ts")).settingsText()],
  environment: ["every environment variable", async () => (await import("./topics_settings.ts")).environmentText()],
  json: ["what --json prints, command by command", async () => (await import("./json_outputs.ts")).jsonText()],
  "exit-codes": ["exit codes of commands and of programs that run jobs", texts("exit-codes")],
};

function texts(name: string): () => Promise<string> {
  return async () => (await import("./topics_texts.ts")).TEXTS[name]!;
}
