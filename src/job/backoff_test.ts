import { assertEquals, assertThrows } from "@std/assert";
import { decide, type Decision, diedBy, type Failure, readBackoff, type RetryIn } from "./backoff.ts";
import { StepFailed } from "../steps/errors.ts";
import { Cancelled, Discard, InvalidPayload, Kill, Snooze, WorkerDied } from "./errors.ts";
import { Unperformable } from "./performable.ts";
import type { Payload } from "./job.ts";

const NOW = 1_700_000_000_000;
const DEAD: Decision = { kind: "dead", keep: true };
const DROPPED: Decision = { kind: "dead", keep: false };
const DISCARD: Decision = { kind: "discard" };

/** Returns the decision about a job with these fields. */
function outcome(fields: Partial<Payload>, more: Partial<Failure> = {}) {
  // Only an async retryIn makes it a promise.
  return decide({
    payload: { class: "A", args: [], jid: "j", queue: "q", ...fields },
    error: new Error("no"),
    options: {},
    maxRetries: 25,
    now: NOW,
    random: () => 0,
    onOptionError: () => {},
    onInvalidChoice: () => {},
    ...more,
  }) as Decision;
}

function retry(seconds: number): Decision {
  return { kind: "retry", delayMs: seconds * 1_000 };
}

Deno.test("the default delay is count⁴ + 15 seconds, plus up to 10·(count+1)−1 seconds of jitter", () => {
  const most = () => 1 - Number.EPSILON;
  for (const [retry_count, count] of [[undefined, 0], [0, 1], [1, 2], [23, 24]] as const) {
    const fields = retry_count === undefined ? {} : { retry_count };
    assertEquals(outcome(fields), retry(count ** 4 + 15));
    assertEquals(outcome(fields, { random: most }), retry(count ** 4 + 15 + 10 * (count + 1) - 1));
  }
});

Deno.test("the 25 default retries take 20 days and some hours", () => {
  let ms = 0;
  for (let failures = 0; failures < 25; failures++) {
    const decision = outcome(failures === 0 ? {} : { retry_count: failures - 1 }, { random: () => 0.5 });
    ms += decision.kind === "retry" ? decision.delayMs : NaN;
  }
  assertEquals(Math.floor(ms / 86_400_000), 20);
  assertEquals(outcome({ retry_count: 24 }), DEAD);
});

Deno.test("retry: a number limits retries, 0 is dead at once, false drops, true and invalid values use the default", () => {
  assertEquals(outcome({ retry: 2, retry_count: 0 }), retry(16));
  assertEquals(outcome({ retry: 2, retry_count: 1 }), DEAD);
  assertEquals(outcome({ retry: 0 }), DEAD);
  assertEquals(outcome({ retry: 0, dead: false }), DROPPED);
  assertEquals(outcome({ retry: false }), DISCARD);
  for (const retry of [true, undefined, null, "5", 1.5, {}]) {
    const fields = { retry: retry as number };
    assertEquals(outcome({ ...fields, retry_count: 23 }).kind, "retry");
    assertEquals(outcome({ ...fields, retry_count: 24 }), DEAD);
    assertEquals(outcome({ ...fields, retry_count: 2 }, { maxRetries: 3 }), DEAD);
  }
});

Deno.test("options of the class apply if the payload has none", () => {
  assertEquals(outcome({ retry: true }, { options: { retry: 0, dead: false } }), DROPPED);
  assertEquals(outcome({ retry: 5, dead: true }, { options: { retry: 0, dead: false } }).kind, "retry");
  assertEquals(outcome({}, { options: { retry: false } }), DISCARD);
});

Deno.test("retry_for replaces the number, and counts from the first failure", () => {
  const after = (seconds: number) => NOW + seconds * 1_000;
  for (const failed_at of [NOW, NOW / 1_000]) {
    const fields = { retry_for: 60, failed_at, retry_count: 40, retry: 3 };
    assertEquals(outcome(fields, { now: after(60) }).kind, "retry");
    assertEquals(outcome(fields, { now: after(60.001) }), DEAD);
  }
  assertEquals(outcome({ retry_for: 60 }).kind, "retry");
});

Deno.test("retry_for of a class may be a duration, and an invalid one is ignored", () => {
  const late = { now: NOW + 3_600_001 };
  const fields = { failed_at: NOW, retry_count: 40 };
  assertEquals(outcome(fields, { options: { retry_for: "1h" } }).kind, "retry");
  assertEquals(outcome(fields, { ...late, options: { retry_for: "1h" } }), DEAD);
  const odd = { retry_for: {} as number, retry_count: 0 };
  assertEquals(outcome(odd, { ...late, options: { retry_for: "soon" } }).kind, "retry");
  assertEquals(outcome({ ...odd, retry_count: 40 }), DEAD);
});

Deno.test("retryIn decides by seconds, a duration, kill or discard; any other value means the default", () => {
  const asked = (answer: unknown, fields: Partial<Payload> = {}) =>
    outcome(fields, { options: { retryIn: () => answer as number } });
  assertEquals(asked(90), retry(90));
  assertEquals(asked(0.25), retry(0.25));
  assertEquals(asked("kill"), DEAD);
  assertEquals(asked("kill", { dead: false }), DROPPED);
  assertEquals(asked("discard"), DISCARD);
  assertEquals([asked(0), asked("5m"), asked("250ms")], [retry(0), retry(300), retry(0.25)]);
  for (const answer of [undefined, null, -5, NaN, "soon"]) assertEquals(asked(answer), retry(15));
});

Deno.test("retryIn may be async, and a value that it must not return is reported", async () => {
  const problems: string[] = [];
  const asked = (retryIn: () => unknown) =>
    outcome({}, { options: { retryIn: retryIn as RetryIn }, onInvalidChoice: (problem) => problems.push(problem) });
  const of = async (answer: unknown) => await asked(() => Promise.resolve(answer));
  assertEquals(await of(2), retry(2));
  assertEquals(await of("kill"), DEAD);
  assertEquals(await of(undefined), retry(15));
  assertEquals(await asked(() => Promise.reject(new Error("no"))), retry(15));
  assertEquals(problems, []);
  for (const answer of [null, -1, NaN, "soon", {}, true]) assertEquals(await of(answer), retry(15));
  assertEquals(await asked(() => -1), retry(15));
  const expected = 'expected seconds, a duration such as 5m, "kill", "discard" or undefined';
  assertEquals(problems.slice(0, 2), [`null; ${expected}`, `-1; ${expected}`]);
  assertEquals(problems.length, 7);
});

Deno.test("retryIn receives the count, the error and the payload, and is not called after the last retry", () => {
  const calls: unknown[][] = [];
  const options = { retryIn: (...given: unknown[]) => void calls.push(given) };
  const error = new Error("this one");
  outcome({ retry_count: 3, jid: "mine" }, { options, error });
  assertEquals([calls[0]?.[0], calls[0]?.[1], (calls[0]?.[2] as Payload).jid], [4, error, "mine"]);
  outcome({ retry: 0 }, { options });
  assertEquals(calls.length, 1);
});

Deno.test("an error in retryIn is reported, and the default applies", () => {
  const told: unknown[] = [];
  const broken = new Error("broken on purpose");
  const options = {
    retryIn: () => {
      throw broken;
    },
  };
  assertEquals(outcome({}, { options, onOptionError: (error) => told.push(error) }), retry(15));
  assertEquals(told, [broken]);
});

Deno.test("a decision that the handler throws takes precedence over all options", () => {
  assertEquals(outcome({ retry: 0 }, { error: new Snooze("5m") }), { kind: "snooze", delayMs: 300_000 });
  assertEquals(outcome({}, { error: new Discard() }), DISCARD);
  assertEquals(outcome({}, { error: new Cancelled() }), retry(15), "only an abort cancels");
  assertEquals(outcome({}, { error: new Kill() }), DEAD);
  assertEquals(outcome({ dead: false }, { error: new Kill() }), DROPPED);
  for (const error of [null, undefined, "Discard", { name: "Kill" }]) assertEquals(outcome({}, { error }), retry(15));
});

Deno.test("no delay leaves the range of dates", () => {
  const decision = outcome({ retry: 1e9, retry_count: 1e8 });
  assertEquals(decision, retry(3_650 * 86_400));
  for (const [given, shown] of [[Infinity, "Infinity"], [1e12, "1000000000000"]] as const) {
    const problems: string[] = [];
    const onInvalidChoice = (problem: string) => void problems.push(problem);
    assertEquals(outcome({}, { options: { retryIn: () => given }, onInvalidChoice }), retry(3_650 * 86_400));
    assertEquals(problems, [`${shown}; expected at most 3650 days, which is used`]);
  }
});

Deno.test("backoff: the delay grows by its type, up to its maximum", () => {
  const delays = (backoff: unknown) =>
    [undefined, 0, 1, 2, 9].map((retry_count) => {
      const decision = outcome({ backoff, ...(retry_count !== undefined && { retry_count }) });
      return decision.kind === "retry" ? decision.delayMs / 1_000 : decision.kind;
    });
  assertEquals(delays({ type: "fixed", base: 5 }), [5, 5, 5, 5, 5]);
  assertEquals(delays({ type: "linear", base: 5 }), [5, 10, 15, 20, 55]);
  assertEquals(delays({ type: "exponential", base: 2 }), [2, 4, 8, 16, 2_048]);
  assertEquals(delays({ type: "exponential", base: "2s", max: "10s" }), [2, 4, 8, 10, 10]);
});

Deno.test("backoff: jitter varies a delay to both sides, and never above the maximum", () => {
  const at = (random: number, max?: number) => {
    const backoff = { type: "fixed", base: 10, jitter: 0.2, ...(max !== undefined && { max }) };
    return outcome({ backoff }, { random: () => random });
  };
  assertEquals([at(0), at(0.5), at(1)], [retry(8), retry(10), retry(12)]);
  assertEquals(at(1, 10), retry(10));
});

Deno.test("backoff: retryIn takes precedence, then the payload, then the class; an invalid one is ignored", () => {
  const fixed = (base: number) => ({ type: "fixed", base }) as const;
  assertEquals(outcome({ backoff: fixed(5) }, { options: { retryIn: () => 7 } }), retry(7));
  assertEquals(outcome({ backoff: fixed(5) }, { options: { backoff: fixed(6) } }), retry(5));
  assertEquals(outcome({}, { options: { backoff: { ...fixed(6), base: "6s" } } }), retry(6));
  for (const backoff of [null, "fixed", [], { type: "fixed" }, { type: "twice", base: 5 }]) {
    assertEquals(outcome({ backoff }, { options: { backoff: fixed(6) } }), retry(6));
    assertEquals(outcome({ backoff }), retry(15));
  }
});

Deno.test("readBackoff names the field that is invalid", () => {
  const cases = [
    ["2s", 'backoff is "2s"; expected an object such as'],
    [{ type: "fixed", base: 5, min: 1 }, 'backoff is "min"; expected only the fields type, base, max, jitter'],
    [{ type: "fixed", base: 0 }, "backoff.base is 0; expected seconds"],
    [{ type: "fixed", base: 9, max: 5 }, "backoff.max is 5; expected at least backoff.base"],
    [{ type: "fixed", base: 9, jitter: 2 }, "backoff.jitter is 2; expected a number from 0 to 1"],
  ] as const;
  for (const [value, message] of cases) assertThrows(() => readBackoff("backoff", value), InvalidPayload, message);
});

Deno.test("diedBy names what has ended a dead job, with the retries that it had", () => {
  const by = (payload: object, more: Partial<Failure> = {}) =>
    diedBy({
      ...{
        payload: payload as Failure["payload"],
        error: new Error("no"),
        options: {},
        maxRetries: 3,
        now: 10_000_000,
      },
      ...{ random: () => 0, onOptionError: () => {}, onInvalidChoice: () => {} },
      ...more,
    });
  assertEquals(by({ retry: 0 }), "retries:0");
  assertEquals(by({ retry_count: 2 }), "retries:3");
  assertEquals(by({ retry_count: 4 }, { options: { retry: 5 } }), "retries:5");
  assertEquals(by({ failed_at: 1 }, { options: { retry_for: 60 } }), "retry_for");
  assertEquals(by({}, { options: { retryIn: () => "kill" } }), "retryIn");
  assertEquals(by({}, { error: new Kill() }), "handler");
  assertEquals(by({}, { error: new WorkerDied(3) }), "crash");
  assertEquals(by({}, { error: new Unperformable("too deep") }), "payload");
  assertEquals(by({}, { error: new StepFailed("a", { class: "E", message: "m" }, 1) }), "step");
  const foreign = Object.assign(new Error("x"), { name: "WorkerDied" });
  assertEquals(by({ retry_count: 2 }, { error: foreign }), "retries:3", "a name decides nothing");
});
