import { assertEquals } from "@std/assert";
import { readSdkSettings } from "./sdk_settings.ts";

/** Returns the warnings for these variables, and whether spans are exported. */
function read(variables: Readonly<Record<string, string>>): [warned: string[], exported: boolean] {
  const warned: string[] = [];
  const { protocol } = readSdkSettings((name) => variables[name], (message) => warned.push(message));
  return [warned, protocol !== undefined];
}

Deno.test("an invalid endpoint causes a warning, and spans are not exported elsewhere", () => {
  for (const address of ["foo", "http://127.0.0.1:99999", "localhost:4318", "ftp://host"]) {
    for (const name of ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"]) {
      assertEquals(read({ [name]: address }), [
        [`${name} is "${address}"; expected an address such as http://127.0.0.1:4318; no traces are exported`],
        false,
      ]);
    }
  }
  assertEquals(read({ OTEL_EXPORTER_OTLP_ENDPOINT: "https://collector:4318/x" }), [[], true]);
  for (const [address, shown] of [["ftp://ann:hunter2@host", "ftp://***@host"], ["ann:hunter2@host", "***@host"]]) {
    const [[warned]] = read({ OTEL_EXPORTER_OTLP_ENDPOINT: address! });
    assertEquals(warned?.split(";")[0], `OTEL_EXPORTER_OTLP_ENDPOINT is "${shown}"`);
  }
});

Deno.test("values that the exporters would ignore silently cause warnings", () => {
  const [warned, exported] = read({
    OTEL_EXPORTER_OTLP_COMPRESSION: "zip",
    OTEL_EXPORTER_OTLP_CERTIFICATE: "/nosuch",
    OTEL_TRACES_SAMPLER_ARG: "x",
  });
  assertEquals([warned, exported], [[
    'OTEL_EXPORTER_OTLP_CERTIFICATE is "/nosuch"; expected a readable file; it is ignored',
    'OTEL_EXPORTER_OTLP_COMPRESSION is "zip"; expected gzip or none; none is used',
    'OTEL_TRACES_SAMPLER_ARG is "x"; expected a number from 0 to 1; 1 is used',
  ], true]);
  assertEquals(read({ OTEL_EXPORTER_OTLP_TRACES_COMPRESSION: "gzip", OTEL_TRACES_SAMPLER_ARG: "0.5" }), [[], true]);
});
