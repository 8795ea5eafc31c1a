/**
 * Pairs of verbs that once had outcomes of no order: a lost job, a signal that reached a job that had ended, a cancelled job that ran again.
 * `pairs_test.ts` explores all pairs.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { startPostgres } from "../support/postgres.ts";
import { Explorer } from "./explorer.ts";
import { explore } from "./pairs.ts";

const CASES: Readonly<Record<string, readonly [first: string, second: string]>> = {
  "a requeued job is in its group, which a take of another group was about to forget": [
    "requeue a dead job of a group",
    "take grouped",
  ],
  "an imported job is in its queue, which an operator forgets": [
    "import to an empty queue",
    "forget an empty queue",
  ],
  "a requeue of a debounced job keeps the payload of the push before it": ["requeue debounced", "push debounced"],
  "a skipped run of a cron entry doesn't keep an ended job as its live one": ["cron skips", "ack an occurrence"],
  "the end of an awaited occurrence makes its entry due, also next to a pause": [
    "ack an awaited occurrence",
    "cron pauses awaited",
  ],
  "a signal that has reached a wait is its result, not the timeout": ["wait that has passed", "signal a passed wait"],
  "a job that is cancelled during its rescue doesn't run again": ["rescue", "cancel lost"],
  "a job that is cancelled during its retry doesn't run again": ["cancel running", "retry"],
  "a job that is cancelled while its worker deregisters doesn't run again": ["deregister", "cancel running"],
  "a job that is admitted to a batch during its rescue counts once": ["rescue", "admit of a frozen worker"],
  "a push replaces a waiting job that becomes due": ["promote", "push replacing due"],
  "two burials drop only the dead jobs that are too many": ["bury", "bury another"],
  "settlements of the same batches don't wait for each other in a circle": ["ack members", "ack other members"],
  "a batch whose last member ends is closed, or cancelled, not both": ["close as cancelled", "ack the last member"],
  "a batch that has ended gets no nested one": ["open a nested batch", "ack the last member"],
  "a batch that has ended gets no member": ["ack the last member", "push a member by the last one"],
  "a batch that gets a member isn't abandoned": ["tend", "push a member of a due batch"],
  "a job that has ended begins no wait": ["wait by a stream", "ack a stream"],
  "a stream that has ended gets no chunks": ["append", "ack a stream"],
  "a job that has ended leaves no steps": ["ack a parent", "remember of a parent"],
  "a job that is deleted while a push replaces it doesn't deadlock": ["delete unique", "push replacing"],
  "an edit leaves a job that another edit has moved to another set": ["requeue a sleeper", "kill a sleeper"],
  "a job that starts while a push replaces it doesn't deadlock": ["push replacing until start", "take unique"],
};

const postgres = await startPostgres({ config: { deadlock_timeout: "200ms" } });
const explorer = await Explorer.open(postgres);
Deno.test.afterAll(async () => {
  await explorer[Symbol.asyncDispose]();
  await postgres[Symbol.asyncDispose]();
});

for (const [title, pair] of Object.entries(CASES)) {
  Deno.test(`interleaved: ${title}`, async () => {
    const { points, wrong } = await explore(explorer, pair, undefined, ["statement"]);
    assertEquals(wrong, undefined);
    assertEquals(points > 0, true);
  });
}
