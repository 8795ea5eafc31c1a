/**
 * What a request brings along, never more of it than allowed, and not forever.
 *
 * @module
 */
import type { Clock } from "../clock.ts";

/** A request cannot be served as it is. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  /** HTTP's status code. */
  readonly status: 400 | 403 | 404 | 408 | 409 | 413 | 415 | 422 | 503;

  /**
   * A refusal.
   *
   * @param status HTTP's status code
   * @param message for people: what is wrong and what is wanted
   */
  constructor(status: Refusal["status"], message: string) {
    super(message);
    this.status = status;
  }
}

const PATIENCE_MS = 10_000;

/**
 * The body as text.
 *
 * @param most so many bytes
 * @throws {Refusal} when it is longer, is not UTF-8, or has not come within 10 seconds
 */
export async function readBody(request: Request, most: number, clock: Clock): Promise<string> {
  const tooLarge = () => new Refusal(413, `The request is too large; wanted: at most ${most} bytes`);
  if (Number(request.headers.get("content-length") ?? 0) > most) throw tooLarge();
  if (request.body === null) return "";
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const reader = request.body.getReader();
  const over = new AbortController();
  let late = false;
  void clock.sleep(PATIENCE_MS, over.signal).then(() => {
    late = !over.signal.aborted;
    if (late) void reader.cancel().catch(() => {});
  });
  let text = "";
  let size = 0;
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (late) throw new Refusal(408, "The request took too long to arrive");
      if (done) return text + decoder.decode();
      size += value.byteLength;
      if (size > most) throw tooLarge();
      text += decoder.decode(value, { stream: true });
    }
  } catch (error) {
    if (error instanceof TypeError) throw new Refusal(400, "The request is not UTF-8 text");
    throw error;
  } finally {
    over.abort();
    void reader.cancel().catch(() => {});
  }
}
