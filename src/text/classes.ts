/**
 * Job classes, in words.
 *
 * @module
 */

/**
 * Warns of a class that a push named and no worker has ever run.
 *
 * @param effect what follows, as part of a sentence
 */
export function unregisteredText(className: string, effect: string): string {
  return `class "${className}" isn't registered: no worker has run it yet, ${effect}`;
}
