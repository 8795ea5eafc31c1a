/**
 * The types of `deno-std/fmt/colors.js`, which ships none: those we use. Colours are off from the start where
 * `NO_COLOR` is set; whether the output is a terminal is the caller's to ask.
 *
 * @module
 */

/** Switches all of them, for the whole program. */
export declare function setColorEnabled(value: boolean): void;
export declare function getColorEnabled(): boolean;

export declare function bold(str: string): string;
export declare function dim(str: string): string;
export declare function italic(str: string): string;
export declare function underline(str: string): string;
export declare function inverse(str: string): string;

export declare function red(str: string): string;
export declare function green(str: string): string;
export declare function yellow(str: string): string;
export declare function blue(str: string): string;
export declare function magenta(str: string): string;
export declare function cyan(str: string): string;
export declare function gray(str: string): string;

/** The text without its colours. */
export declare function stripAnsiCode(str: string): string;
