// @ts-types="./colors.d.ts"
export * from "deno-std/fmt/colors.js";
