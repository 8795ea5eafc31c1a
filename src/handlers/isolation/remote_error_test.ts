import { assertEquals } from "@std/assert";
import { describeError } from "../../job/describe_error.ts";
import { errorFrame, RemoteError } from "./remote_error.ts";

Deno.test("the causes of an error survive its transfer between processes", () => {
  const thrown = new Error("outer", { cause: new TypeError("fetch failed") });
  const remote = new RemoteError(JSON.parse(JSON.stringify(errorFrame(thrown))));
  assertEquals(describeError(remote).causes, ["caused by TypeError: fetch failed"]);
});

Deno.test("an error of an isolated process keeps its class, also a plain Error", () => {
  class Refused extends Error {}
  for (
    const [thrown, name] of [[new Error("x"), "Error"], [new Refused("x"), "Refused"], [new TypeError(), "TypeError"]]
  ) {
    const remote = new RemoteError(errorFrame(thrown));
    assertEquals([describeError(remote).class, errorFrame(remote).class], [name, name]);
  }
});
