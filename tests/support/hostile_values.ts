/**
 * Values that a handler may throw, return or report, and that break code which reads them without a guard. Each row makes a
 * new value: some of them can be read once.
 *
 * @module
 */
import { Snooze } from "../../src/job/errors.ts";

function refuse(): never {
  throw new Error("cannot be read");
}

function broken(...parts: readonly string[]): Error {
  const error = new Error("x");
  for (const part of parts) Object.defineProperty(error, part, { get: refuse });
  return error;
}

/** An error as a library's client defines it: its name is that of the reply, which is absent. */
class ApiError extends Error {
  readonly response?: { readonly status: string };

  override get name(): string {
    return this.response!.status;
  }
}

/** An error that refuses to be recognized. */
class Unrecognizable {
  static [Symbol.hasInstance](): boolean {
    return refuse();
  }
}

const REFUSE_ALL: ProxyHandler<object> = Object.fromEntries(
  [
    "get",
    "set",
    "has",
    "ownKeys",
    "getPrototypeOf",
    "getOwnPropertyDescriptor",
    "defineProperty",
    "isExtensible",
    "deleteProperty",
  ].map((trap) => [trap, refuse]),
);

function revoked(target: object): object {
  const { proxy, revoke } = Proxy.revocable(target, {});
  revoke();
  return proxy;
}

function withParts(parts: Readonly<Record<string, unknown>>): Error {
  const error = new Error("x");
  for (const [part, value] of Object.entries(parts)) Object.defineProperty(error, part, { value });
  return error;
}

/** Returns an error whose part is another value each time it is read; the first times are harmless. */
function changing(part: string, harmless: number): Error {
  let reads = 0;
  return Object.defineProperty(new Error("x"), part, {
    get: () => ++reads > harmless ? refuse() : "Error",
  });
}

function cyclic(): Error {
  const error = new Error("outer") as Error & { cause: unknown; errors: unknown[] };
  error.cause = new AggregateError([error, new Error("inner", { cause: error })], "both");
  error.errors = [error];
  return error;
}

function nested(depth: number): unknown {
  let value: unknown = [];
  for (let i = 0; i < depth; i++) value = [value];
  return value;
}

function chain(length: number): Error {
  let error = new Error("first");
  for (let i = 0; i < length; i++) error = new Error(`error ${i}`, { cause: error });
  return error;
}

const UNTEXT = { toString: refuse, valueOf: refuse };

/** The values, by name. */
export const HOSTILE_VALUES: Readonly<Record<string, () => unknown>> = {
  apiError: () => new ApiError("x"),
  nameThrows: () => broken("name"),
  messageThrows: () => broken("message"),
  stackThrows: () => broken("stack"),
  causeThrows: () => broken("cause"),
  allThrow: () => broken("name", "message", "stack", "cause", "constructor", "errors", "delayMs"),
  numbers: () => withParts({ name: 404, message: 5, stack: 7 }),
  symbols: () => withParts({ name: Symbol("n"), message: Symbol("m"), stack: Symbol("s"), cause: Symbol("c") }),
  objects: () => withParts({ name: UNTEXT, message: UNTEXT, stack: UNTEXT, cause: UNTEXT }),
  nulls: () => withParts({ name: null, message: null, stack: null, cause: null, errors: null }),
  hostileMembers: () => new AggregateError([broken("name"), revoked([]), new Proxy({}, REFUSE_ALL), UNTEXT], "m"),
  revokedMembers: () => withParts({ errors: revoked([]) }),
  proxyMembers: () => withParts({ errors: new Proxy([1, 2], { get: refuse }) }),
  proxy: () => new Proxy({}, REFUSE_ALL),
  proxyOfError: () => new Proxy(new Error("x"), REFUSE_ALL),
  proxyWithoutPrototype: () => new Proxy(new Error("x"), { getPrototypeOf: refuse }),
  revoked: () => revoked({}),
  revokedError: () => revoked(new Error("x")),
  revokedFunction: () => revoked(() => {}),
  frozen: () => Object.freeze(new Error("frozen")),
  withoutPrototype: () => Object.create(null),
  errorWithoutPrototype: () => Object.setPrototypeOf(new Error("x"), null),
  fakeError: () => Object.create(Error.prototype),
  hasInstance: () => new Unrecognizable(),
  hasInstanceClass: () => Unrecognizable,
  cyclic,
  longChain: () => chain(5_000),
  endlessCauses: () => {
    const again = (): Error => Object.defineProperty(new Error("again"), "cause", { get: again });
    return again();
  },
  nameChanges: () => changing("name", 1),
  messageChanges: () => changing("message", 2),
  snoozeThrows: () => Object.defineProperty(new Snooze(1), "delayMs", { get: refuse }),
  snoozeForever: () => Object.assign(new Snooze(1), { delayMs: Infinity }),
  bigint: () => 2n ** 70n,
  symbol: () => Symbol("thrown"),
  function: () => function thrown() {},
  undefined: () => undefined,
  null: () => null,
  text: () => "text",
  huge: () => new Error("m".repeat(2_000_000)),
  hugeStack: () => withParts({ stack: `x\n${"    at y\n".repeat(10_000)}    at ${"z".repeat(100_000)}` }),
  loneSurrogates: () => withParts({ name: "N\ud800", message: "m\udc00", stack: "x\n    at \ud800" }),
  controls: () => withParts({ name: "N\0\n\x1b[2J", message: "m\0\r\n\x1b[2J<b>\u2028" }),
  markup: () => withParts({ name: "<script>", message: "<script>alert(1)</script>" }),
  deep: () => nested(50_000),
  deepCause: () => new Error("x", { cause: nested(50_000) }),
  untext: () => UNTEXT,
  toPrimitive: () => ({ [Symbol.toPrimitive]: refuse }),
  toJsonThrows: () => ({ toJSON: refuse }),
  toJsonOnce: () => {
    let calls = 0;
    return { toJSON: () => ++calls > 1 ? refuse() : { ok: true } };
  },
  getterOnce: () => {
    let reads = 0;
    return {
      get value() {
        return ++reads > 1 ? refuse() : 1;
      },
    };
  },
  prototypeNames: () => JSON.parse('{"__proto__":{"name":"x"},"constructor":1,"toString":2,"then":3}'),
  thenableThrows: () => ({ then: refuse }),
  thenGetterThrows: () => Object.defineProperty({}, "then", { get: refuse }),
  thenableRejects: () => ({ then: (_: unknown, reject: (error: unknown) => void) => reject(broken("name")) }),
};

/** The names of the values. */
export const HOSTILE_NAMES: readonly string[] = Object.keys(HOSTILE_VALUES);
