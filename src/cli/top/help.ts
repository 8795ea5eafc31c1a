/**
 * What the keys of `jobs top` are: for its help.
 *
 * @module
 */

/** Keys, and what they do. */
const KEYS: readonly (readonly [keys: string, does: string])[] = [
  ["↑ ↓ j k", "move; PgUp PgDn Space g G further"],
  ["Tab", "the next pane; Shift-Tab the one before"],
  ["Enter", "a process or a job in full, the jobs of a queue or a set"],
  ["Esc q ←", "back; q on the first screen, and Ctrl-C anywhere, quits"],
  ["/", "show only rows that contain a text; Enter keeps it, Esc ends it"],
  ["n b", "the next page of a long list, and back"],
  ["?", "this help"],
  ["Ctrl-L", "draw everything again"],
  ["Ctrl-Z", "to the shell; fg comes back"],
  ["", ""],
  ["p", "queue: pause it, or resume it"],
  ["r", "job: put it into its queue now"],
  ["c", "job: cancel it, wherever it is (asks)"],
  ["x", "job: delete it (asks)"],
  ["K", "job: move it to dead (asks)"],
  ["d", "process: what each of its tasks is doing"],
  ["Q", "process: let it finish and take nothing more, or take jobs again"],
  ["S", "process: stop it (asks)"],
];

/** The help, line by line. */
export function helpLines(): string[] {
  return [
    "Processes, queues, what runs, and the sets, as they are.",
    "",
    ...KEYS.map(([keys, does]) => `${keys.padEnd(9)} ${does}`.trimEnd()),
    "",
    "A running job's progress is as old as its process's last heartbeat. nobody: no process takes from the queue.",
  ];
}
