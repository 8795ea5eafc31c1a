/**
 * A gateway without a store, whose replies a test chooses.
 *
 * @module
 */

/** The body of a request. */
export interface Asked {
  readonly take?: number;
  readonly wait?: number;
  readonly running?: readonly { readonly token: string; readonly log?: readonly unknown[] }[];
  readonly outcomes?: readonly { readonly token: string; readonly end: string; readonly error?: { message: string } }[];
}

/** A reply; a value is sent as JSON. */
type Reply = (asked: Asked, text: string) => unknown;

export interface ScriptedGateway extends AsyncDisposable {
  readonly url: string;
  /** How many requests have arrived, by the last part of their path. */
  readonly asked: Map<string, number>;
  /** Lets the requests for jobs that wait return, and all jobs end. */
  finish(): void;
}

/** Returns a job as `take` gives it. Its token is its jid. */
export function given(name: string, jid: string, args: readonly unknown[] = []) {
  const payload = JSON.stringify({ class: name, jid, args });
  return { token: jid, payload, queue: "default", attempt: 1, receipt: jid, jid, class: name };
}

/**
 * Starts a gateway. The first request for jobs receives all of them, and the next one waits until {@linkcode ScriptedGateway.finish}, which
 * stops the worker.
 */
export function scriptedGateway({ jobs = [], replies = {}, heartbeatMs = 300, port = 0 }: {
  readonly jobs?: readonly unknown[];
  readonly replies?: Readonly<Record<string, Reply>>;
  readonly heartbeatMs?: number;
  readonly port?: number;
}): ScriptedGateway {
  const done = Promise.withResolvers<void>();
  let isDone = false;
  const asked = new Map<string, number>();
  const state = () => ({ quiet: false, stopping: isDone });
  const usual: Readonly<Record<string, Reply>> = {
    register: () => ({ worker: "w", running: [], heartbeatMs, timeoutMs: 2 * heartbeatMs }),
    async take() {
      const isFirst = asked.get("take") === 1;
      if (!isFirst || jobs.length === 0) await done.promise;
      return { jobs: isFirst ? jobs : [], ...state() };
    },
    heartbeat: () => ({ aborted: [], lost: [], ...state() }),
    settle: () => ({ lost: [] }),
    deregister: () => ({}),
  };
  const server = Deno.serve({ port, hostname: "127.0.0.1", onListen: () => {}, onError: () => cut() }, async (one) => {
    const name = new URL(one.url).pathname.split("/").at(-1)!;
    const text = await one.text();
    asked.set(name, (asked.get(name) ?? 0) + 1);
    const body = JSON.parse(text);
    const reply = await replies[name]?.(body, text) ?? await usual[name]!(body, text);
    return reply instanceof Response ? reply : Response.json(reply);
  });
  const finish = () => {
    isDone = true;
    done.resolve();
  };
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    asked,
    finish,
    async [Symbol.asyncDispose]() {
      finish();
      await server.shutdown();
    },
  };
}

/** Returns the error of the API that refuses a request. */
export function refused(status: number, message = "refused"): Response {
  return Response.json({ error: { code: "invalid", message } }, { status });
}

/** Returns a reply whose connection breaks in the middle. */
export function cut(): Response {
  const body = new ReadableStream({
    start: (controller) => controller.enqueue(new TextEncoder().encode(`{"aborted":`)),
    pull: (controller) => controller.error(new Error("cut")),
  });
  return new Response(body, { headers: { "content-type": "application/json" } });
}
