/** Handlers under the names of the Ruby workers in `ruby/workers.rb`. */

export { Note, Wait } from "../support/handlers.js";

/** Fails, and is retried as Sidekiq retries. */
export function Fail(_ctx, message) {
  throw new RangeError(message);
}
