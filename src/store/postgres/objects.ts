/**
 * The names of the objects that a store has in its schema, which may have others: those of an application.
 *
 * @module
 */
import enqueueText from "./enqueue.sql" with { type: "text" };
import functionsText from "./functions.sql" with { type: "text" };
import pushText from "./push.sql" with { type: "text" };
import optionsText from "./push_options.sql" with { type: "text" };
import rolesText from "./roles.sql" with { type: "text" };
import schemaText from "./schema.sql" with { type: "text" };

/** The tables of the first version. */
export const SCHEMA_SQL: string = schemaText;

const TEXT = [functionsText, enqueueText, optionsText, pushText, rolesText].join("\n");

const named = (pattern: RegExp) => Array.from(schemaText.matchAll(pattern), ([, name]) => name!);

/** The names of the store's tables. */
export const TABLES: readonly string[] = named(/^CREATE (?:UNLOGGED )?TABLE (\w+)/gm);
/** The names of its views. */
export const VIEWS: readonly string[] = named(/^CREATE VIEW (\w+)/gm);
/** The names of its sequences, without those of identities. */
export const SEQUENCES: readonly string[] = named(/^CREATE SEQUENCE (\w+)/gm);
/** The names of its indexes, without those of keys. */
export const INDEXES: readonly string[] = named(/^CREATE (?:UNIQUE )?INDEX (\w+)/gm);
const RELATIONS = [...TABLES, ...VIEWS];
/** Its functions, as statements name them: `now_ms(ahead bigint)`. */
export const SIGNATURES: readonly string[] = Array.from(
  TEXT.matchAll(/^CREATE OR REPLACE FUNCTION (\w+\([^()]*\))/gm),
  ([, signature]) => signature!.replace(/ DEFAULT (?:'[^']*'|\w+)/g, "").replace(/\s+/g, " "),
);

/** Those that push run as the owner. */
const PUSHES = SIGNATURES.filter((signature) => /^(push|push_many|push_built|mark)\(/.test(signature));

/** The statements that create or replace the functions. */
export const FUNCTIONS: string = TEXT
  .replace(":functions", SIGNATURES.join(", "))
  .replace(":pushes", PUSHES.join(", "))
  .replace(":tables", RELATIONS.join(", "))
  .replace(":writable", RELATIONS.filter((name) => name !== "meta").join(", "))
  .replace(":sequences", SEQUENCES.join(", "));
