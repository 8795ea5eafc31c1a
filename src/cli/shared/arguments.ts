/**
 * The arguments of a job on a command line.
 *
 * @module
 */
import { parseLossless } from "../../job/json.ts";

/** Returns a JSON list of arguments: each is JSON if it is valid JSON, else a text. Numbers stay as typed. */
export function argumentsText(texts: readonly string[]): string {
  return `[${texts.map((text) => isJson(text) ? text : JSON.stringify(text)).join(",")}]`;
}

function isJson(text: string): boolean {
  try {
    parseLossless(text);
    return true;
  } catch {
    return false;
  }
}
