/**
 * Suggestions for mistyped words.
 *
 * @module
 */
import { levenshteinDistance } from "../std/levenshtein_distance.ts";

/** Returns the known word that begins with `given`, else the nearest one within an edit distance of a third of its length. */
export function closestWord(given: string, known: readonly string[]): string | undefined {
  const beginning = known.find((word) => given.length > 1 && word.startsWith(given));
  if (beginning !== undefined) return beginning;
  const ranked = known.map((word) => ({
    word,
    distance: isSwapped(given, word) ? 1 : levenshteinDistance(given, word),
  }));
  const best = ranked.sort((a, b) => a.distance - b.distance)[0];
  return best && best.distance <= Math.max(1, Math.floor(best.word.length / 3)) ? best.word : undefined;
}

/** Returns the end of a sentence about an unknown name: `did you mean "name"?`, or all known names if none is close. */
export function expectedName(given: string, known: readonly string[], none: string): string {
  const meant = closestWord(given, known);
  return meant === undefined ? `expected ${known.join(", ") || none}` : `did you mean "${meant}"?`;
}

/** Returns what is expected in place of an unknown option, after "expected": the one that is meant, else all that are known. */
export function expectedOption(given: string, known: readonly string[]): string {
  const meant = closestWord(given, known);
  return meant === undefined ? `one of ${known.join(", ")}` : `no option of this name: did you mean "${meant}"?`;
}

/** Whether two neighboring characters changed places: the most common slip, and two edits by Levenshtein's distance. */
function isSwapped(given: string, word: string): boolean {
  const at = [...word].findIndex((character, i) => character !== given[i]);
  return at >= 0 && given === `${word.slice(0, at)}${word[at + 1] ?? ""}${word[at]}${word.slice(at + 2)}`;
}
