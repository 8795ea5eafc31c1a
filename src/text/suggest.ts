/**
 * What a mistyped word was probably meant to be.
 *
 * @module
 */
import { levenshteinDistance } from "@std/text/levenshtein-distance";

/** The one of the known words that begins with `given`, else the nearest, if any is near. */
export function closestWord(given: string, known: readonly string[]): string | undefined {
  const beginning = known.find((word) => given.length > 1 && word.startsWith(given));
  if (beginning !== undefined) return beginning;
  const ranked = known.map((word) => ({ word, distance: levenshteinDistance(given, word) }));
  const best = ranked.sort((a, b) => a.distance - b.distance)[0];
  return best && best.distance <= Math.max(1, Math.floor(best.word.length / 3)) ? best.word : undefined;
}
