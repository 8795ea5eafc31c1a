export declare function assert(expr: unknown, msg?: string): asserts expr;
export declare function assertEquals<T>(actual: T, expected: T, msg?: string): void;
