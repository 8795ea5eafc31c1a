/**
 * Bounds the time of a list by the text that it parses: parsing and masking a payload of 1 MB with many keys takes 70 ms, and a list may
 * have 1,000 jobs.
 *
 * @module
 */
import { abridged } from "../../job/abridged.ts";
import type { Entry } from "../../store/port/entries.ts";

/** Characters of payloads that one list shows whole. The page and the address of a job show it whole in any case. */
export const MAX_LIST_CHARS = 4 * 1024 * 1024;

export class ListBudget {
  #left = MAX_LIST_CHARS;

  /** Returns an entry as the list shows it: with the sizes of its large fields in their places once the list is long. */
  admit(entry: Entry): Entry {
    const { length } = entry.payload;
    if (length > this.#left) return { ...entry, payload: abridged(entry.payload) };
    this.#left -= length;
    return entry;
  }
}
