/**
 * Gives the functions of PostgreSQL stores the next number if their text has changed: run `deno task functions` after each change.
 * It also settles a conflict in the file: the numbers of both sides stay, and the text of both gets the one after them.
 *
 * @module
 */
import { digestOf, DIGESTS } from "../src/store/postgres/functions_number.ts";
import { FUNCTIONS } from "../src/store/postgres/objects.ts";

const known = new Set(DIGESTS);
const digest = await digestOf(FUNCTIONS);
if (DIGESTS.at(-1) !== digest) known.delete(digest);
const path = new URL("../src/store/postgres/functions_number.txt", import.meta.url);
Deno.writeTextFileSync(path, [...known.add(digest), ""].join("\n"));
