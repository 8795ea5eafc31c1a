import { assertEquals } from "@std/assert";
import { ownIdentity, whyForeign, whyUntrusted } from "./ownership.ts";

const NOTHING = () => undefined;

Deno.test("trusts files that only this user, root and private groups can change", () => {
  const me = { uid: 1000, gid: 1000 };
  const random = { uid: 1_000_730_000, gid: 0 }; // as OpenShift starts containers
  const sudo = { uid: 0, gid: 0, sudoUid: 1000 };
  const ofMe = (mode: number, isSymlink = false) => ({ uid: 1000, gid: 1000, mode, isSymlink });
  const ofRoot = (mode: number) => ({ uid: 0, gid: 0, mode, isSymlink: false });
  const inGroup = (mode: number) => ({ ...ofMe(mode), gid: 50 });
  const ofOther = { uid: 1001, gid: 1001, mode: 0o100600, isSymlink: false };
  const rows: [file: Parameters<typeof whyForeign>[0], self: Parameters<typeof whyForeign>[1], why?: string][] = [
    [ofMe(0o100600), me],
    [ofMe(0o100664), me],
    [inGroup(0o100644), me],
    [ofRoot(0o100664), me],
    [ofRoot(0o040775), random],
    [ofMe(0o120777, true), me],
    [ofMe(0o100644), sudo],
    [{ ...ofOther, uid: null, gid: null, mode: null }, me],
    [ofOther, me, "belongs to another user (UID 1001)"],
    [ofOther, sudo, "belongs to another user (UID 1001)"],
    [{ ...ofOther, isSymlink: true }, me, "belongs to another user (UID 1001)"],
    [ofMe(0o100600), { uid: 0, gid: 0 }, "belongs to another user (UID 1000)"],
    [ofMe(0o100646), me, "is writable by all users"],
    [ofRoot(0o041777), me, "is writable by all users"],
    [ofRoot(0o041777), { uid: 0, gid: 0 }, "is writable by all users"],
    [inGroup(0o100664), me, "is writable by another group (GID 50)"],
    [inGroup(0o042775), { uid: 0, gid: 0, sudoUid: 1000 }, "is writable by another group (GID 50)"],
  ];
  for (const [file, self, why] of rows) assertEquals(whyForeign(file, self), why, JSON.stringify([file, self]));
});

Deno.test("looks at a file, at its folder, and behind links", async () => {
  const root = await Deno.makeTempDir({ prefix: "jobs-test-" });
  const write = async (folder: string, folderMode: number, fileMode: number) => {
    await Deno.mkdir(`${root}/${folder}`);
    await Deno.writeTextFile(`${root}/${folder}/jobs.json`, "{}");
    await Deno.chmod(`${root}/${folder}/jobs.json`, fileMode);
    await Deno.chmod(`${root}/${folder}`, folderMode);
  };
  try {
    await write("own", 0o755, 0o644);
    await write("open-file", 0o755, 0o666);
    await write("open-folder", 0o777, 0o644);
    await write("sticky", 0o1777, 0o644);
    await Deno.mkdir(`${root}/links`);
    await Deno.symlink(`${root}/own/jobs.json`, `${root}/links/own.json`);
    await Deno.symlink(`${root}/open-folder/jobs.json`, `${root}/links/open.json`);
    await Deno.symlink(`${root}/own/jobs.json`, `${root}/sticky/own.json`);
    const rows: [path: string, why?: string][] = [
      ["own/jobs.json"],
      ["links/own.json"],
      ["open-file/jobs.json", "it is writable by all users"],
      ["open-folder/jobs.json", "its folder is writable by all users"],
      ["sticky/jobs.json", "its folder is writable by all users"],
      ["links/open.json", "its folder is writable by all users"],
      ["sticky/own.json", "its folder is writable by all users"],
    ];
    for (const [path, why] of rows) assertEquals(whyUntrusted(`${root}/${path}`, NOTHING), why, path);
    const foreign = { uid: 4_000, gid: 4_000 };
    assertEquals(
      Deno.uid() === 0 ? undefined : `it belongs to another user (UID ${Deno.uid()})`,
      whyUntrusted(`${root}/own/jobs.json`, NOTHING, foreign),
    );
    const trusted = (folder: string) => (name: string) => name === "JOBS_TRUSTED_FOLDER" ? folder : undefined;
    const path = `${root}/sticky/jobs.json`;
    assertEquals(whyUntrusted(path, trusted(`${root}/sticky/`)), undefined);
    assertEquals(whyUntrusted(path, trusted(root)), undefined);
    assertEquals(whyUntrusted(path, trusted(`${root}/stick`)), "its folder is writable by all users");
    assertEquals(whyUntrusted(path, trusted("")), "its folder is writable by all users");
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});

Deno.test("counts the user who called sudo as this user, if this user is root", () => {
  const self = ownIdentity((name) => name === "SUDO_UID" ? "1234" : undefined);
  assertEquals(self?.sudoUid, Deno.uid() === 0 ? 1234 : undefined);
  assertEquals(ownIdentity((name) => name === "SUDO_UID" ? "x" : undefined)?.sudoUid, undefined);
});
