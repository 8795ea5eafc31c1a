/**
 * The steps of an ended job in its record. The store deletes the steps themselves with the job.
 *
 * @module
 */
import { stringifyLossless } from "./json.ts";
import { readStepHead, type Step } from "./step.ts";
import type { EndedJob } from "./result.ts";

/** A record keeps this many steps at most, the latest. */
const MAX_STEPS_KEPT = 100;
/** The steps of a record have at most this many characters together. */
const MAX_CHARACTERS_KEPT = 32 * 1024;
/** A longer record of a step is kept without its value or cursor. */
const MAX_RECORD_CHARACTERS = 2_000;

/**
 * Returns the latest steps as JSON, for the record of a job; undefined if there are none.
 *
 * @param steps names and records of the steps, in any order
 */
export function keptSteps(steps: Iterable<readonly [name: string, record: string]>): string | undefined {
  return keep([...steps].flatMap(([name, record]) => {
    // The mark of a job that must not sleep has no name.
    const step = name === "" ? undefined : readHead(name, record);
    return step === undefined ? [] : [step];
  }));
}

/**
 * Returns the same of steps that are read already.
 *
 * @param steps the steps, and the lengths of their records
 */
export function keptOfKnown(steps: Iterable<{ readonly step: Step; readonly characters: number }>): string | undefined {
  return keep(Array.from(steps, ({ step, characters }) => {
    if (characters <= MAX_RECORD_CHARACTERS) return step;
    const { value: _value, cursor: _cursor, ...head } = step;
    return head;
  }));
}

function keep(all: Step[]): string | undefined {
  all.sort((a, b) => b.since - a.since);
  const kept: string[] = [];
  let characters = 0;
  for (const step of all.slice(0, MAX_STEPS_KEPT)) {
    const text = stringifyLossless(step)!;
    if ((characters += text.length) > MAX_CHARACTERS_KEPT) break;
    kept.push(text);
  }
  return kept.length === 0 ? undefined : `[${kept.reverse().join(",")}]`;
}

function readHead(name: string, record: string): Step | undefined {
  try {
    return readStepHead(name, record, MAX_RECORD_CHARACTERS);
  } catch {
    return undefined;
  }
}

/** Returns the steps of a record. Any program may have written it. */
export function stepsIn({ steps }: EndedJob): Step[] {
  if (!Array.isArray(steps)) return [];
  return steps.filter((step) =>
    typeof step?.name === "string" && typeof step.state === "string" && typeof step.kind === "string" &&
    typeof step.since === "number"
  );
}
