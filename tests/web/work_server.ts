/**
 * A server with a gateway, to which tests send the requests of workers in other programs.
 *
 * @module
 */
import { assert } from "@std/assert";
import { type Clock, systemClock } from "../../src/clock.ts";
import { defaultSettings, type Settings } from "../../src/config/settings.ts";
import { Gateway } from "../../src/remote/gateway.ts";
import type { Store } from "../../src/store/admin/store.ts";
import { createWeb, type Web } from "../../src/web/web.ts";
import { PATIENT } from "./site.ts";

/** The registration of a worker. */
export const REGISTRATION = {
  ...{ protocol: 1, runtime: "test 1", client: "test 1", hostname: "box", pid: 7, concurrency: 10 },
  ...{ nonce: "000000000001", classes: { Try: { result_ttl: "1h" } } },
};

// deno-lint-ignore no-explicit-any -- answers of several shapes
export type Answer = any;

export interface WorkServerOptions extends Partial<Settings> {
  readonly clock?: Clock;
  /** The lines of `web.users`. */
  readonly users?: readonly string[];
  readonly maxWorkersOfUser?: number;
}

/** A server with a gateway. */
export class WorkServer implements AsyncDisposable {
  readonly #gateway: Gateway;
  readonly #web: Web;

  constructor(
    store: Store,
    { clock = systemClock, users = [], maxWorkersOfUser, ...settings }: WorkServerOptions = {},
  ) {
    this.#gateway = new Gateway({
      ...{ store, clock, settings: { ...defaultSettings(), ...settings } as Settings },
      ...(maxWorkersOfUser !== undefined && { maxWorkersOfUser }),
    });
    this.#web = createWeb({ store, users, clock: PATIENT, gateway: () => Promise.resolve(this.#gateway) });
  }

  /** Sends a request, and returns the answer, also that of an error. */
  async send(verb: string, body: object, signal?: AbortSignal, token?: string): Promise<Answer> {
    const request = new Request(`http://localhost/api/v1/work/${verb}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...(token && { authorization: `Bearer ${token}` }) },
      body: JSON.stringify(body),
      ...(signal && { signal }),
    });
    return await (await this.#web.handle(request, "127.0.0.1")).json();
  }

  /** Reads from the API. */
  async get(path: string, token: string): Promise<Answer> {
    const headers = { authorization: `Bearer ${token}` };
    return await (await this.#web.handle(new Request(`http://localhost/api/v1${path}`, { headers }), "127.0.0.1"))
      .json();
  }

  /** Registers a worker, and returns its name. */
  async register(more: object = {}): Promise<string> {
    const answer = await this.send("register", { ...REGISTRATION, ...more });
    assert(answer.worker, JSON.stringify(answer));
    return answer.worker;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#gateway[Symbol.asyncDispose]();
    await this.#web[Symbol.asyncDispose]();
  }
}
