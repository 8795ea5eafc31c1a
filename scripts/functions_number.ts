/**
 * Gives the functions of PostgreSQL stores the next number if their text has changed: run `deno task functions` after each change.
 * It also settles a conflict of the file: numbers of both sides stay, and the text of both gets the one after them.
 *
 * @module
 */
import { FUNCTIONS } from "../src/store/postgres/objects.ts";
import { digestOf } from "../src/store/postgres/functions_number.ts";

const path = new URL("../src/store/postgres/functions_number.ts", import.meta.url);
const text = Deno.readTextFileSync(path);
const digest = await digestOf(FUNCTIONS);
const from = text.indexOf("= [\n") + "= [".length;
const to = text.indexOf("\n];", from);
const known = [...new Set(Array.from(text.slice(from, to).matchAll(/"([0-9a-f]{16})"/g), ([, one]) => one!))];
if (known.at(-1) !== digest) known.push(digest);
const lines = known.map((one) => `\n  "${one}",`).join("");
Deno.writeTextFileSync(path, text.slice(0, from) + lines + text.slice(to));
