/**
 * TLS to PostgreSQL: a private authority, by name and by address, client certificates, and the errors of each.
 *
 * @module
 */
import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { openStore, StoreError } from "../src/mod.ts";
import { parseAddress } from "../src/store/postgres/address.ts";
import { Client } from "../src/store/postgres/client.ts";
import { jobs as newJobs } from "./store_contract/jobs.ts";
import { until } from "./support/eventually.ts";
import { type PostgresServer, startPostgres } from "./support/postgres.ts";
import { jobs } from "./support/process.ts";
import { requireTool } from "./support/tools.ts";

requireTool("openssl");
const dir = await Deno.makeTempDir({ prefix: "jobs-tls-" });
await Deno.chmod(dir, 0o755);

async function openssl(line: string): Promise<void> {
  const { success, stderr } = await new Deno.Command("openssl", { args: line.split(" "), cwd: dir }).output();
  if (!success) throw new Error(`openssl ${line}: ${new TextDecoder().decode(stderr)}`);
}

const KEY = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
await openssl(`req -x509 ${KEY} -days 2 -subj /CN=authority -keyout ca.key -out ca.crt`);

/** Makes a certificate of the authority, with names such as `DNS:localhost`. */
async function make(name: string, subject: string, names: string): Promise<void> {
  await openssl(`req ${KEY} -subj /CN=${subject} -keyout ${name}.key -out ${name}.csr`);
  await Deno.writeTextFile(`${dir}/${name}.ext`, `subjectAltName=${names}`);
  await openssl(
    `x509 -req -in ${name}.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile ${name}.ext -out ${name}.crt`,
  );
  // The server reads no key that others may read.
  await Deno.chmod(`${dir}/${name}.key`, 0o600);
  if (Deno.uid() === 0 && name !== "client") await Deno.chown(`${dir}/${name}.key`, 65534, 65534);
}

await make("both", "db", "DNS:localhost,IP:127.0.0.1");
await make("name", "db", "DNS:localhost");
await make("address", "db", "IP:127.0.0.1");
await make("client", "app", "DNS:app");

const postgres: PostgresServer = await startPostgres({
  config: {
    listen_addresses: "localhost",
    ssl: "on",
    ssl_cert_file: `${dir}/both.crt`,
    ssl_key_file: `${dir}/both.key`,
    ssl_ca_file: `${dir}/ca.crt`,
  },
});
Deno.test.afterAll(async () => {
  await postgres[Symbol.asyncDispose]();
  await Deno.remove(dir, { recursive: true });
});

/** Has the server use another certificate, or none. */
async function use(certificate: string | undefined): Promise<void> {
  const set = certificate === undefined
    ? ["ssl = off"]
    : ["ssl = on", `ssl_cert_file = '${dir}/${certificate}.crt'`, `ssl_key_file = '${dir}/${certificate}.key'`];
  for (const one of set) await postgres.sql(`ALTER SYSTEM SET ${one}`);
  await postgres.sql("SELECT pg_reload_conf()");
  const wanted = certificate === undefined ? "off" : `${dir}/${certificate}.crt`;
  const setting = certificate === undefined ? "ssl" : "ssl_cert_file";
  await until(async () => await postgres.sql(`SHOW ${setting}`) === wanted, () => `${setting} is ${wanted}`);
}

const url = (host: string, parameters: string, user = "postgres", database = "postgres") =>
  `postgres://${user}@${host}:${postgres.port}/${database}?${parameters}`;

/** Connects once. Returns "ok", or the error without the address. */
async function connect(address: string): Promise<string> {
  try {
    const client = await Client.create(parseAddress(address), { waitMs: 100 });
    try {
      const row = await client.meet(
        "SELECT pg_backend_pid() AS pid, (SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid())",
      );
      return row.ssl === true ? "ok" : "plain";
    } finally {
      await client.close();
    }
  } catch (error) {
    assertEquals(error instanceof StoreError, true, String(error));
    return (error as Error).message.replace(/"postgres:[^"]*"/, "…");
  }
}

const FULL = `sslmode=verify-full&sslrootcert=${dir}/ca.crt`;
const OTHER_NAME =
  /^PostgreSQL at … has a certificate problem \(.*altnames.*\): use a host that the certificate names$/;
const UNKNOWN =
  /^PostgreSQL at … has a certificate problem \(.*\): add sslrootcert=FILE with the certificate of its authority to the address$/;

Deno.test("verify-full accepts a private authority's certificate by name and by address, also as ca=", async () => {
  await use("both");
  for (const host of ["localhost", "127.0.0.1"]) {
    for (const given of [FULL, FULL.replace("sslrootcert", "ca"), `ca=${dir}/ca.crt`]) {
      assertEquals(await connect(url(host, given)), "ok", `${host} ${given}`);
    }
    assertMatch(await connect(url(host, "sslmode=verify-full")), UNKNOWN);
    assertMatch(await connect(url(host, `sslmode=verify-full&sslrootcert=${dir}/client.crt`)), UNKNOWN);
  }
});

Deno.test("verify-full requires the name or the address of the host, each of several", async () => {
  await use("name");
  assertEquals(await connect(url("localhost", FULL)), "ok");
  assertMatch(await connect(url("127.0.0.1", FULL)), OTHER_NAME);
  // The first host isn't there.
  assertMatch(await connect(url(`localhost:1,127.0.0.1`, FULL)), OTHER_NAME);
  await use("address");
  assertEquals(await connect(url("127.0.0.1", FULL)), "ok");
  assertMatch(await connect(url("localhost", FULL)), OTHER_NAME);
  assertEquals(await connect(url("localhost", FULL.replace("verify-full", "verify-ca"))), "ok");
  // As in libpq: with an authority, `require` checks it.
  assertEquals(await connect(url("localhost", FULL.replace("verify-full", "require"))), "ok");
  assertEquals(await connect(url("localhost", "sslmode=require")), "ok");
  assertMatch(await connect(url("localhost", `sslmode=require&ca=${dir}/client.crt`)), UNKNOWN);
});

Deno.test("a client certificate logs in, and its absence has a cure", async () => {
  await use("both");
  await postgres.sql("CREATE ROLE app LOGIN");
  const hba = await postgres.sql("SHOW hba_file");
  const before = await Deno.readTextFile(hba);
  const client = `sslcert=${dir}/client.crt&sslkey=${dir}/client.key`;
  await Deno.writeTextFile(hba, `hostssl all app all cert\n${before}`);
  await postgres.sql("SELECT pg_reload_conf()");
  const as = (given: string) => connect(url("localhost", given, "app"));
  await until(async () => await as(FULL) !== "ok", () => "a certificate is required");
  assertMatch(await as(FULL), /add sslcert=FILE&sslkey=FILE with a certificate/);
  assertEquals(await as(`${FULL}&${client}`), "ok");
  await Deno.writeTextFile(hba, before);
  await postgres.sql("SELECT pg_reload_conf()");
});

Deno.test("a server without TLS, and files that can't be read, are named", async () => {
  await use(undefined);
  const none = "PostgreSQL at … offers no TLS: remove sslmode from the address, or set ssl = on on the server";
  for (const given of ["sslmode=require", FULL]) assertEquals(await connect(url("localhost", given)), none);
  assertEquals(await connect(url("localhost", "sslmode=prefer")), "plain");
  await use("both");
  assertEquals(await connect(url("localhost", "sslmode=prefer")), "ok");
  assertMatch(
    await connect(url("localhost", "ca=/none.crt")),
    /^Invalid store …: sslrootcert "\/none.crt" cannot be read: /,
  );
  assertEquals(
    await connect(url("localhost", `ca=${dir}/ca.ext`.replace("ca.ext", "both.ext"))),
    `Invalid store …: sslrootcert "${dir}/both.ext" isn't in PEM format`,
  );
});

Deno.test("a store works with verify-full, and jobs doctor names a certificate it can't verify", async () => {
  await use("both");
  const database = await postgres.create();
  const messages: string[] = [];
  const address = url(
    "127.0.0.1",
    `${FULL}&channel_binding=require&application_name=shop&connect_timeout=10`,
    "postgres",
    database,
  );
  await using store = await openStore(address, { log: (_, message) => messages.push(message) });
  await store.jobs.enqueue(newJobs(1, 2));
  assertEquals((await store.jobs.take({ queues: ["default"], limit: 9, worker: "w" })).length, 2);
  assertMatch(messages.join("\n"), /^Parameters of "[^"]*" have no effect: channel_binding$/);
  assertEquals(await postgres.sql("SELECT count(*) > 0 FROM pg_stat_activity WHERE application_name = 'shop'"), "t");
  const { stdout } = await jobs([
    "doctor",
    "--measure",
    "0s",
    "--store",
    url("127.0.0.1", "sslmode=verify-full", "postgres", database),
  ]);
  assertMatch(stdout, /has a certificate problem[^\n]*\n\s*→ mend the certificate/);
});

Deno.test("an unknown certificate isn't repeated until the time is over", async () => {
  const client = await Client.create(parseAddress(url("127.0.0.1", "sslmode=verify-full")), { waitMs: 3_600_000 });
  await assertRejects(() => client.run("SELECT 1"), StoreError, "certificate");
  await assertRejects(() => client.transaction("1 AS one", () => Promise.resolve()), StoreError, "certificate");
  await client.close();
});
