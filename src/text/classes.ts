/**
 * Job classes, in words.
 *
 * @module
 */

/**
 * Warns of a class that a push named and no worker has ever run.
 *
 * @param effect what follows, as part of a sentence
 * @param meant a class with nearly the same name that is registered
 */
export function unregisteredText(className: string, effect: string, meant?: string): string {
  const hint = meant === undefined ? "" : `; did you mean ${meant}?`;
  return `class "${className}" isn't registered: no worker has run it yet, ${effect}${hint}`;
}
