// @ts-types="./closest_string.d.ts"
export * from "deno-std/text/closest_string.js";
