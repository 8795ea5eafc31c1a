/**
 * Checks, runs and audits the actions of operators: the only place that does.
 *
 * @module
 */
import { BatchError } from "../../client/batch_errors.ts";
import { UsedId } from "../../client/unique.ts";
import { CrontabError } from "../../cron/crontab.ts";
import { InvalidPayload } from "../../job/errors.ts";
import {
  type Action,
  type Author,
  type Deed,
  type EventKind,
  type Following,
  Refused,
  type Steps,
  type Tools,
} from "./action.ts";
import { checkScope } from "./scope.ts";

/**
 * Does an action. An action on many jobs has two events in the audit log: one before its first step, so that the log has it whatever
 * happens, and one at its end.
 *
 * @param raw the input, as parsed JSON
 * @throws {InvalidInput} for a wrong input; that isn't in the audit log
 * @throws {Refused} if it is refused for another reason
 * @throws {StoreError}
 */
export async function act<In, Out, Has extends Tools>(
  tools: Has,
  by: Author,
  action: Action<In, Out, Has>,
  raw: unknown,
  { progress, signal }: Following = {},
): Promise<Out> {
  const given = action.takes.read(raw);
  let begun: { changed: number; outcome?: string } | undefined;
  let noted: Deed = {};
  const record = async (deed: Deed | undefined, kind: EventKind = action.isFrequent ? "frequent" : "rare") => {
    if (deed !== undefined) await tools.record({ ...by, action: action.name, ...noted, ...deed }, kind);
  };
  const runSteps = async ({ total, steps, answer = {} }: Steps) => {
    await record({ ...action.deed(given), count: total, outcome: "begun" });
    const state: typeof begun = begun = { changed: 0 };
    await progress?.({ changed: 0, total, answer });
    const isStopped = () => signal !== undefined && signal.aborted && state.changed < total;
    if (!isStopped()) {
      for await (const more of steps) {
        state.changed += more;
        await progress?.({ changed: state.changed, total, answer });
        if (isStopped()) break;
      }
    }
    if (isStopped()) state.outcome = "interrupted";
    return state.changed;
  };
  try {
    checkScope(tools.scope, action, given);
    const out = await action.run(tools, given, runSteps, (deed) => noted = deed);
    await record(begun ? { ...action.deed(given, out), ...eventOf(begun) } : action.deed(given, out));
    return out;
  } catch (error) {
    const refusal = refusalOf(error);
    const why = refusal?.message ?? (error as Error).message;
    if (begun !== undefined) {
      await record({ ...action.deed(given), ...eventOf({ ...begun, outcome: `ended early: ${why}` }) });
    } // A program's push that is refused is as frequent as one that isn't, and changes nothing.
    else if (refusal !== undefined && !action.isFrequent) {
      await record({ ...action.deed(given), outcome: `refused: ${why}` }, "refused");
    }
    throw refusal ?? error;
  }
}

function eventOf({ changed, outcome }: { readonly changed: number; readonly outcome?: string }): Deed {
  return { count: changed, ...(outcome !== undefined && { outcome }) };
}

/** Returns the refusal that an error of a part below is; undefined for other errors. */
function refusalOf(error: unknown): Refused | undefined {
  if (error instanceof Refused) return error;
  const cause = error;
  if (error instanceof UsedId) return new Refused("conflict", error.message, { field: error.field, cause });
  if (error instanceof InvalidPayload) return new Refused("invalid", error.message, { field: error.field, cause });
  if (error instanceof BatchError) return new Refused("conflict", error.message, { cause });
  if (error instanceof CrontabError) return new Refused("invalid", error.message, { cause });
  return undefined;
}
