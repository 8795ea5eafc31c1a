/**
 * The files of a release, made of a small stand-in for the executable: a header, and comments of the bundler that name
 * packages. `package_test.ts` installs those of the real one.
 */
import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import config from "../../deno.json" with { type: "json" };
import { billOfMaterials, debianCopyright, licenseTexts } from "../../scripts/release/bill.ts";
import { clientPackages } from "../../scripts/release/clients.ts";
import { ASSETS, ComponentError, componentsOf } from "../../scripts/release/components.ts";
import { chooseTargets, TargetError } from "../../scripts/release/targets.ts";
import { pinnedDeno, runHere, useExecutable } from "../support/command.ts";
import { temporaryFolder } from "../support/process.ts";
import { requireTool } from "../support/tools.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
const PROGRAM = { version: "0.1.0", license: await Deno.readTextFile(`${ROOT}LICENSE`), time: 1_790_000_000 };
const DIGEST = /^[0-9a-f]{128}$/;

/** An executable for Linux on x86_64 that contains these packages. */
function standIn(...packages: readonly string[]): Uint8Array {
  const header = new Uint8Array(64);
  header.set([0x7f, 0x45, 0x4c, 0x46]);
  header[18] = 62;
  const comments = packages.map((path) => `\n// ../npm/registry.npmjs.org/${path}/index.js\n`).join("");
  return new Uint8Array([...header, ...new TextEncoder().encode(comments)]);
}

Deno.test("the packages have the same bytes in any folder, time zone and umask, and all parts", async () => {
  await using folder = await temporaryFolder();
  const binary = `${folder.path}/jobs`;
  await Deno.writeFile(binary, standIn("hono/4.13.19"), { mode: 0o755 });
  const [one, two] = [`${folder.path}/one`, `${folder.path}/two/deep`];
  const make = `exec "$0" run -A "$1" --binary "$2" --output "$3"`;
  const args = [await pinnedDeno(), `${ROOT}scripts/release/main.ts`, binary];
  await runHere("sh", ["-c", make, ...args, one]);
  await runHere("sh", ["-c", `umask 077; cd /; ${make}`, ...args, two], { TZ: "Asia/Tokyo", TMPDIR: folder.path });
  const sums = await Deno.readTextFile(`${one}/SHA256SUMS`);
  assertEquals(await Deno.readTextFile(`${two}/SHA256SUMS`), sums);
  await runHere("sh", ["-c", `cd ${one} && sha256sum --check --quiet SHA256SUMS`]);

  const [tarball, deb] = [...sums.matchAll(/\S+\.(?:tar\.gz|deb)/g)].map(([name]) => `${one}/${name}`);
  const inside = (await runHere("tar", ["-tzf", tarball!])).split("\n");
  const installed = (await runHere("sh", ["-c", `dpkg-deb --fsys-tarfile ${deb} | tar -t`])).split("\n");
  const documents = (await runHere("git", ["ls-files", "docs/*.md"])).split("\n");
  assert(documents.length > 40);
  const shared = (await runHere("git", ["ls-files", "clients"])).split("\n");
  for (const language of ["node", "python", "ruby"]) {
    assert(shared.some((path) => path.startsWith(`clients/${language}/`)));
  }
  const others = ["prometheus/alerts.yml", "prometheus/scrape.yml", "grafana/jobs.json", "kubernetes/jobs.yaml"];
  others.push("logrotate/jobs");
  const expectedInside = [
    ...["jobs", "jobs.json", "systemd/jobs.service", "systemd/jobs@.service", "man/jobs.1", "completions/jobs.bash"],
    ...["completions/_jobs", "completions/jobs.fish", "LICENSES.txt", "jobs.cdx.json", "README.md", "CHANGELOG.md"],
    ...[...documents, ...shared, ...others.map((path) => `packaging/${path}`)],
  ].map((path) => `jobs-0.1.0-linux-x86_64/${path}`);
  assertEquals(expectedInside.filter((path) => !inside.includes(path)), []);
  const expectedInstalled = [
    ...["usr/bin/jobs", "etc/jobs/jobs.json", "etc/jobs/handlers/", "etc/profile.d/jobs.sh"],
    ...["lib/systemd/system/jobs.service", "lib/systemd/system/jobs@.service", "usr/share/man/man1/jobs.1.gz"],
    ...["usr/share/bash-completion/completions/jobs", "usr/share/zsh/vendor-completions/_jobs"],
    ...["usr/share/fish/vendor_completions.d/jobs.fish", "usr/share/fish/vendor_conf.d/jobs.fish"],
    ...["copyright", "jobs.cdx.json", "README.md", "CHANGELOG.md", ...documents].map((path) =>
      `usr/share/doc/jobs/${path}`
    ),
    ...[...shared, ...others].map((path) => `usr/share/jobs/${path}`),
  ].map((path) => `./${path}`);
  assertEquals(expectedInstalled.filter((path) => !installed.includes(path)), []);

  await runHere("dpkg-deb", ["--extract", deb!, `${folder.path}/root`]);
  await runHere("dpkg-deb", ["--control", deb!, `${folder.path}/control`]);
  await runHere("sh", ["-c", `cd ${folder.path}/root && md5sum --check --quiet ../control/md5sums`]);
  for (const path of ["bash-completion/completions/jobs", "zsh/vendor-completions/_jobs"]) {
    const script = await Deno.readTextFile(`${folder.path}/root/usr/share/${path}`);
    assertStringIncludes(script, `'/usr/bin/jobs' "$@"`);
    assert(!script.includes(ROOT), "the folder of the build is in the completions");
  }
});

Deno.test("the bill of materials has the fields that CycloneDX requires, with versions, licenses and digests", async () => {
  const parts = await componentsOf(standIn("hono/4.13.19", "@opentelemetry/api/1.10.0", "@redis/client/6.3.1"));
  const text = billOfMaterials(parts, PROGRAM);
  assertEquals(billOfMaterials(parts, PROGRAM), text);
  const bill = JSON.parse(text);
  assertEquals([bill.bomFormat, bill.specVersion, bill.version], ["CycloneDX", "1.6", 1]);
  assertMatch(bill.serialNumber, /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/);
  assertEquals([bill.metadata.timestamp, bill.metadata.component.type], ["2026-09-21T14:13:20Z", "application"]);
  for (const { type, name, licenses } of bill.components) {
    assert(["library", "platform", "data"].includes(type) && name !== "", name);
    assert(licenses.length === 1 && (licenses[0].license?.id ?? licenses[0].expression), name);
  }
  const references = [bill.metadata.component, ...bill.components].map((part) => part["bom-ref"]);
  assertEquals(new Set(references).size, references.length);
  const named = bill.dependencies.flatMap((
    { ref, dependsOn }: { ref: string; dependsOn: string[] },
  ) => [ref, ...dependsOn]);
  assertEquals(named.filter((ref: string) => !references.includes(ref)), []);
  // deno-lint-ignore no-explicit-any -- a component of the document
  const part = (name: string) => bill.components.find((component: any) => component.name === name);
  assertEquals(part("@redis/client").purl, "pkg:npm/%40redis/client@6.3.1");
  assertMatch(part("@redis/client").hashes[0].content, DIGEST);
  assertEquals(part("deno").version, Deno.version.deno);
  assertMatch(part("sqlite").version, /^3\.\d+/);
  assertMatch(part("inter").version, /^\d/);
});

Deno.test("a new dependency appears with its license; one without, or outside of the lock file, is an error", async () => {
  const names = async (...packages: string[]) => (await componentsOf(standIn(...packages))).map(({ name }) => name);
  assertEquals((await names("hono/4.13.19")).includes("croner"), false);
  assertEquals((await names("hono/4.13.19", "croner/11.0.1")).includes("croner"), true);
  const parts = await componentsOf(standIn("croner/11.0.1"));
  assertStringIncludes(licenseTexts(parts, PROGRAM), "croner 11.0.1: MIT\n\n");
  assertStringIncludes(debianCopyright(parts, PROGRAM), "\nFiles: embedded/croner/*\nCopyright: Copyright");
  await assertRejects(
    () => names("croner/1.0.0"),
    ComponentError,
    "croner@1.0.0 is in the executable, but not in deno.lock",
  );
  // Published without the text of its license.
  await assertRejects(
    () => names("woff2sfnt-sfnt2woff/1.0.0"),
    ComponentError,
    "put the text into packaging/licenses/woff2",
  );
  await assertRejects(() => names(), ComponentError, "names no packages");
});

Deno.test("every part of the executable has a license, and no tool of the tests is one", async () => {
  const parts = await componentsOf(await Deno.readFile(await useExecutable()));
  const names = parts.map(({ name }) => name);
  for (const name of ["hono", "deno-std", "@redis/client", "uplot", "inter", "lucide", "deno", "v8", "sqlite"]) {
    assert(names.includes(name), name);
  }
  assertEquals(names.filter((name) => /playwright|axe|cron-parser|subset-font/.test(name)), []);
  const [licenses, copyright] = [licenseTexts(parts, PROGRAM), debianCopyright(parts, PROGRAM)];
  for (const { name, text, license, copyright: holder } of parts) {
    assert(text.length > 100 && license !== "" && holder !== "", name);
    assertStringIncludes(licenses, text);
    assertStringIncludes(copyright, `embedded/${name}/*`);
  }
  // A paragraph of Debian's file is fields, and lines that continue them.
  assertEquals(copyright.split("\n").filter((line) => !/^($| |[A-Z][A-Za-z-]+: )/.test(line)), []);
});

Deno.test("every license among the sources belongs to a part", async () => {
  const files = (await runHere("git", ["ls-files", "src/*LICENSE*"])).split("\n");
  assertEquals(ASSETS.map(({ file }): string => file).sort(), files);
});

Deno.test("the clients have the version of the program", async () => {
  const packages = (await clientPackages(PROGRAM)).map(({ path }) => path);
  assertEquals(packages, [
    `jobs-client-${config.version}.tgz`,
    `jobs_client-${config.version}-py3-none-any.whl`,
    `jobs-client-${config.version}.gem`,
  ]);
});

Deno.test("the clients install without a registry", async () => {
  requireTool("node");
  requireTool("python3");
  requireTool("ruby");
  await using folder = await temporaryFolder();
  const packages = await clientPackages(PROGRAM);
  for (const { path, content } of packages) await Deno.writeFile(`${folder.path}/${path}`, content!);
  const [npm, wheel, gem] = packages.map(({ path }) => `${folder.path}/${path}`);
  const modules = `${folder.path}/node_modules/jobs-client`;
  await Deno.mkdir(modules, { recursive: true });
  await runHere("tar", ["-xzf", npm!, "-C", modules, "--strip-components=1"]);
  await Deno.writeTextFile(
    `${folder.path}/a.mjs`,
    `import { JobsClient } from "jobs-client"; console.log(typeof JobsClient);`,
  );
  assertEquals(await runHere("node", [`${folder.path}/a.mjs`]), "function");
  const home = `${folder.path}/gems`;
  await runHere("gem", ["install", "--local", "--no-document", "--norc", "--install-dir", home, gem!]);
  const ruby = `gem "jobs-client", "${config.version}"; require "jobs"; print $LOADED_FEATURES.grep(/jobs\\.rb/)`;
  assertStringIncludes(await runHere("ruby", ["-e", ruby], { GEM_HOME: home, GEM_PATH: home }), home);
  const script = `import importlib.metadata as m, importlib.util as u, jobs_client
print(m.version('jobs-client'), u.find_spec('jobs_django').origin)`;
  assertEquals(
    await runHere("python3", ["-c", script], { PYTHONPATH: wheel! }),
    `${config.version} ${wheel}/jobs_django.py`,
  );
  assertEquals(await runHere("python3", ["-m", "zipfile", "-t", wheel!]), "Done testing");
});

Deno.test("builds the targets whose runtime is given, and names the others", async () => {
  await using folder = await temporaryFolder();
  const none = { targets: [], runtimes: undefined, own: undefined };
  const arm = "aarch64-unknown-linux-gnu";
  const runtime = `${folder.path}/denort-${arm}`;
  await assertRejects(() => chooseTargets({ ...none, runtimes: folder.path }), TargetError, "No runtime in");
  await Deno.writeTextFile(runtime, "");
  const { chosen, leftOut } = await chooseTargets({ ...none, runtimes: folder.path });
  assertEquals([[...chosen], leftOut.length], [[[arm, runtime]], 4]);
  const own = await chooseTargets({ ...none, own: "/denort" });
  assertEquals([[...own.chosen], own.leftOut.includes(arm)], [[[Deno.build.target, "/denort"]], true]);
  assertEquals([...(await chooseTargets({ ...none, targets: [arm] })).chosen], [[arm, undefined]]);
  await assertRejects(
    () => chooseTargets({ ...none, targets: ["vax"] }),
    TargetError,
    'Unknown target "vax": expected x86',
  );
  await assertRejects(() => chooseTargets({ ...none, runtimes: "/none" }), TargetError, "Can't read the runtimes");
});
