/** The clients name the options of a push, all of them and no others. */
import { assertEquals } from "@std/assert";
import { optionNames } from "../../src/job/option_names.ts";

const read = (path: string) => Deno.readTextFileSync(new URL(`../../clients/${path}`, import.meta.url));
const EXPECTED = [...optionNames("push"), "fields"].sort();

Deno.test("the types of the Node client have every option of a push", () => {
  const [, body] = /export interface JobOptions \{\n([^]*?)\n\}/.exec(read("node/jobs_client.d.mts"))!;
  assertEquals(Array.from(body!.matchAll(/^ {2}(\w+)\?:/gm), ([, name]) => name!).sort(), EXPECTED);
});

Deno.test("the docstring of the Python client's push names every option of a push", () => {
  const [, list] = /Options, with [^]*?:\n\n([^]*?)"""/.exec(read("python/jobs_client.py"))!;
  const names = Array.from(list!.matchAll(/^ {8}([a-z_, ]+): /gm), ([, names]) => names!.split(", ")).flat();
  assertEquals(names.map((name) => name.replace(/_$/, "")).sort(), EXPECTED);
});
