/**
 * The help screen of `jobs top`.
 *
 * @module
 */

/** The keys with their effects, in the order of the help screen. */
const KEYS: readonly (readonly [keys: string, effect: string])[] = [
  ["↑ ↓ j k", "move; also PgUp PgDn Space g G"],
  ["Tab", "next pane, in a queue next group; Shift-Tab: previous one"],
  ["Enter", "show a worker, a job or a batch in full, or the jobs of a queue or a set"],
  ["Esc q ←", "back; q on the first screen, and Ctrl-C anywhere, quits"],
  ["/", "show only rows that contain a text; Enter keeps it, Esc clears it"],
  ["n b", "next and previous page of a long list"],
  ["?", "this help"],
  ["Ctrl-L", "redraw the screen"],
  ["Ctrl-Z", "suspend; fg continues"],
  ["", ""],
  ["p", "queue: pause or resume it"],
  ["r", "job: retry or run it now"],
  ["c", "job: cancel it in any state (asks first)"],
  ["x", "job: delete it (asks first)"],
  ["K", "job: move it to dead (asks first)"],
  ["d", "worker: dump what each of its tasks is doing"],
  ["Q", "worker: quiet it (stop fetching), or resume it"],
  ["S", "worker: stop it (asks first)"],
];

/** Returns the help, line by line. */
export function helpLines(): string[] {
  return [
    "Shows workers, queues, running jobs, unfinished batches and flows, and the sets of jobs, live.",
    "",
    ...KEYS.map(([keys, effect]) => `${keys.padEnd(9)} ${effect}`.trimEnd()),
    "",
    'Progress is as of the last heartbeat of the job\'s worker. "no worker": no worker fetches from the queue.',
  ];
}
