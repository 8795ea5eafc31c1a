import { assertEquals, assertThrows } from "@std/assert";
import { StoreError } from "../port/errors.ts";
import { parseAddress } from "./address.ts";

Deno.test("takes the parameters of libpq, and reports those without an effect", () => {
  const neon = parseAddress(
    "postgres://ann:x@db.example/app?sslmode=require&channel_binding=require&options=endpoint%3Dblue",
  );
  assertEquals([neon.tls, neon.options, neon.ignored], [{ mode: "require" }, "endpoint=blue", ["channel_binding"]]);
  const query = parseAddress(
    "postgres://db.example?user=ann&password=p%40&dbname=app&port=5433&application_name=shop&connect_timeout=9",
  );
  assertEquals(
    [query.user, query.password, query.database, query.hosts, query.applicationName, query.connectTimeoutS],
    [
      "ann",
      "p@",
      "app",
      [{ host: "db.example", port: 5433 }],
      "shop",
      9,
    ],
  );
  assertEquals(
    query.shown,
    "postgres://db.example?user=ann&password=***&dbname=app&port=5433&application_name=shop&connect_timeout=9",
  );
  const plain = parseAddress("postgres://ann@db/app");
  assertEquals([plain.tls, plain.ignored, plain.applicationName], [undefined, [], "jobs"]);
});

Deno.test("reads certificates, which are checked unless sslmode says otherwise", () => {
  const tls = (query: string) => parseAddress(`postgres://ann@db/app?${query}`).tls;
  assertEquals(tls("sslrootcert=/ca.pem"), { mode: "verify-full", ca: "/ca.pem" });
  assertEquals(tls("ca=/ca.pem&sslmode=verify-ca"), { mode: "verify-ca", ca: "/ca.pem" });
  assertEquals(tls("sslrootcert=system"), { mode: "verify-full" });
  assertEquals(tls("sslcert=/c&sslkey=/k&sslmode=require"), { mode: "require", cert: "/c", key: "/k" });
  assertEquals(tls("sslmode=disable&ca=/ca.pem"), undefined);
  for (
    const [query, message] of [
      ["sslmode=maybe", 'sslmode "maybe", expected disable, prefer, require, verify-ca or verify-full'],
      ["sslcert=/c", "sslcert without sslkey, expected both or none"],
      ["sslmode=prefer&ca=/c", "sslmode prefer with certificates, expected verify-full or require"],
      ["target_session_attrs=standby", 'target_session_attrs "standby", expected read-write: a store is written to'],
      ["connect_timeout=soon", 'connect_timeout "soon", expected a number from 1 to 300'],
      ["sslrootcrt=/c", 'unknown parameter "sslrootcrt", expected schema, host,'],
    ] as const
  ) {
    assertThrows(() => tls(query), StoreError, message);
  }
});
