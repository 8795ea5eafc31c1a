/**
 * Reads request bodies, bounded in size, in time, and in memory for all bodies together.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";

/** Rejects a request; the message is for the user. */
export class HttpError extends Error {
  override readonly name = "HttpError";
  readonly status: 400 | 403 | 404 | 408 | 409 | 413 | 415 | 422 | 429 | 503;
  /** The field or parameter that is wrong, as a path. */
  readonly field: string | undefined;

  /**
   * @param status HTTP's status code
   * @param message one line for the user: what is wrong and what was expected
   * @param field the field or parameter that is wrong
   */
  constructor(status: HttpError["status"], message: string, field?: string) {
    super(message);
    this.status = status;
    this.field = field;
  }
}

/** Space besides a payload: for the refs of ten thousand jobs. */
const REFS_BYTES = 1024 * 1024;

/** Returns the largest body that carries a payload, or refs of jobs. Escapes may double a payload's length. */
export function largeBodyBytes(maxPayloadBytes: number): number {
  return 2 * maxPayloadBytes + REFS_BYTES;
}

const READ_TIMEOUT_MS = 10_000;
/** Bytes in memory of bodies that haven't arrived completely. */
const MAX_ARRIVING_BYTES = 64 * 1024 * 1024;

/** Counts the bytes of the bodies that are arriving. */
export class BodyBudget {
  readonly #maxBytes: number;
  #bytes = 0;

  /** @param maxBytes default 64 MiB */
  constructor(maxBytes: number = MAX_ARRIVING_BYTES) {
    this.#maxBytes = maxBytes;
  }

  /** @throws {HttpError} when the bodies that are arriving take too much memory */
  add(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > this.#maxBytes) throw new HttpError(503, "Too many large requests are arriving: try again");
  }

  /** Takes back what {@linkcode add} counted. */
  remove(bytes: number): void {
    this.#bytes -= bytes;
  }
}

/**
 * Reads a body as text.
 *
 * @param maxBytes the largest body that is read
 * @param arriving bounds the memory of all bodies together; default: this body alone
 * @throws {HttpError} if the body is compressed, is larger, isn't UTF-8, breaks off, takes over 10 s, or exceeds the memory for bodies
 */
export async function readBody(
  request: Request,
  maxBytes: number,
  clock: Clock,
  arriving: BodyBudget = new BodyBudget(),
): Promise<string> {
  const tooLarge = () => new HttpError(413, `The request is too large; expected at most ${maxBytes} bytes`);
  if (Number(request.headers.get("content-length") ?? 0) > maxBytes) throw tooLarge();
  if (request.body === null) return "";
  const encoding = request.headers.get("content-encoding") ?? "identity";
  if (!/^identity$/i.test(encoding.trim())) {
    throw new HttpError(
      415,
      `The request is encoded as ${JSON.stringify(encoding.slice(0, 50))}; expected no Content-Encoding`,
    );
  }
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const reader = request.body.getReader();
  const over = new AbortController();
  let late = false;
  void clock.sleep(READ_TIMEOUT_MS, over.signal).then(() => {
    late = !over.signal.aborted;
    if (late) void reader.cancel().catch(() => {});
  });
  let text = "";
  let size = 0;
  try {
    for (;;) {
      const { value, done } = await reader.read().catch(() => {
        throw new HttpError(400, "The request ended before its body was complete");
      });
      if (late) throw new HttpError(408, "The request took too long to arrive");
      if (done) return text + decoder.decode();
      size += value.byteLength;
      arriving.add(value.byteLength);
      if (size > maxBytes) throw tooLarge();
      text += decoder.decode(value, { stream: true });
    }
  } catch (error) {
    if (error instanceof TypeError) throw new HttpError(400, "The request is not UTF-8 text");
    throw error;
  } finally {
    over.abort("read");
    arriving.remove(size);
    void reader.cancel().catch(() => {});
  }
}
