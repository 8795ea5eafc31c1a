import { assertEquals } from "@std/assert";
import { readSdkSettings } from "./sdk_settings.ts";

/** What is warned of with these variables, and whether anything is exported. */
function read(variables: Readonly<Record<string, string>>): [warned: string[], exported: boolean] {
  const warned: string[] = [];
  const { protocol } = readSdkSettings((name) => variables[name], (message) => warned.push(message));
  return [warned, protocol !== undefined];
}

Deno.test("an endpoint that cannot be is named, and nothing is exported anywhere else", () => {
  for (const address of ["foo", "http://127.0.0.1:99999", "localhost:4318", "ftp://host"]) {
    for (const name of ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"]) {
      assertEquals(read({ [name]: address }), [
        [`${name} is "${address}"; wanted: an address such as http://127.0.0.1:4318; no traces are exported`],
        false,
      ]);
    }
  }
  assertEquals(read({ OTEL_EXPORTER_OTLP_ENDPOINT: "https://collector:4318/x" }), [[], true]);
});

Deno.test("what the exporters would pass over in silence is named", () => {
  const [warned, exported] = read({
    OTEL_EXPORTER_OTLP_COMPRESSION: "zip",
    OTEL_EXPORTER_OTLP_CERTIFICATE: "/nosuch",
    OTEL_TRACES_SAMPLER_ARG: "x",
  });
  assertEquals([warned, exported], [[
    'OTEL_EXPORTER_OTLP_CERTIFICATE is "/nosuch"; wanted: a file that can be read; it is left out',
    'OTEL_EXPORTER_OTLP_COMPRESSION is "zip"; wanted: gzip or none; none is used',
    'OTEL_TRACES_SAMPLER_ARG is "x"; wanted: a number from 0 to 1; 1 is used',
  ], true]);
  assertEquals(read({ OTEL_EXPORTER_OTLP_TRACES_COMPRESSION: "gzip", OTEL_TRACES_SAMPLER_ARG: "0.5" }), [[], true]);
});
