/**
 * The banner that `jobs run` prints on a terminal.
 *
 * @module
 */
import { VERSION } from "../../version.ts";

const LINES = [
  "   _       _         ",
  "  (_) ___ | |__  ___ ",
  "  | |/ _ \\| '_ \\/ __|",
  "  | | (_) | |_) \\__ \\",
  " _/ |\\___/|_.__/|___/",
  "|__/                 ",
];

export function banner(plain: boolean): string {
  const lines = LINES.with(-1, `${LINES.at(-1)} ${VERSION}`);
  return plain ? lines.join("\n") : lines.map((line) => `\x1b[36m${line}\x1b[0m`).join("\n");
}
