/**
 * The states of a job as a diagram: where it can be, where it was and when, where it is, and what may come.
 *
 * @module
 */
import { Time, type View } from "./view.tsx";

/** The states, in the order in which a screen reader says them. */
export const STATES = ["created", "scheduled", "queue", "running", "retry", "done", "dead"] as const;
/** One of them. */
export type State = typeof STATES[number];

/** What is to be said of a state. */
export interface StateNote {
  /** When it came there; of one that waits, when it goes on. */
  readonly at?: number | undefined;
  /** A word or two more. */
  readonly note?: string | undefined;
}

const LABELS: Readonly<Record<State, string>> = {
  created: "created",
  scheduled: "scheduled",
  queue: "in queue",
  running: "running",
  retry: "retry",
  done: "done",
  dead: "dead",
};

/** The diagram. A state without a note was not passed, as far as is known. */
export function StateDiagram({ view, now, names = {}, notes }: {
  readonly view: View;
  /** Where it is. */
  readonly now: State;
  /** States by other names. */
  readonly names?: Readonly<Partial<Record<State, string>>>;
  readonly notes: Readonly<Partial<Record<State, StateNote>>>;
}) {
  return (
    <ol class="states" aria-label="States">
      {STATES.map((state) => {
        const note = notes[state];
        const kind = state === now ? "now" : note === undefined ? "" : "past";
        return (
          <li class={`state-${state} ${kind}`} aria-current={state === now ? "step" : undefined}>
            <b>{names[state] ?? LABELS[state]}</b>
            {note?.at !== undefined && <Time at={note.at} now={view.now} />}
            {note?.note !== undefined && <small>{note.note}</small>}
          </li>
        );
      })}
      <li class="fork" aria-hidden="true"></li>
    </ol>
  );
}
