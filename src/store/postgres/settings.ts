/**
 * The settings of sessions that change what a statement does. A user or a database may have other values by default.
 *
 * Functions that an application calls in its session set what they depend on by themselves (`push.sql`).
 *
 * @module
 */

/** The settings, and the values with which a store works. */
export const SETTINGS: Readonly<Record<string, string>> = {
  default_transaction_isolation: "read committed",
  standard_conforming_strings: "on",
  array_nulls: "on",
  transform_null_equals: "off",
  extra_float_digits: "1",
  DateStyle: "ISO, MDY",
  session_replication_role: "origin",
};

const conditions: Readonly<Record<string, (value: string) => string>> = {
  // Higher ones print each number exactly, too.
  extra_float_digits: (value) => `${value}::integer >= 1`,
  DateStyle: (value) => `${value} LIKE 'ISO%'`,
};

/** A column with the names of the settings that have other values, separated by commas. */
export const OTHER_SETTINGS: string = `array_to_string(ARRAY[${
  Object.entries(SETTINGS).map(([name, expected]) => {
    const value = `current_setting('${name}')`;
    return `CASE WHEN NOT (${conditions[name]?.(value) ?? `${value} = '${expected}'`}) THEN '${name}' END`;
  }).join(", ")
}], ',')`;
