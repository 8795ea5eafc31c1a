// @ts-types="./assert.d.ts"
export * from "deno-std/assert/mod.js";
