/**
 * The transfer part as an adapter states it: a function per kind of rows. The rows of another store are checked here, before any
 * of them is written.
 *
 * @module
 */
import type {
  DroppedRows,
  ReadKind,
  ReadRequest,
  RowKind,
  RowPage,
  TransferRows,
  TransferStore,
} from "../admin/transfer.ts";
import { BATCH_COLUMNS } from "./batch_record.ts";
import { NODE_COLUMNS } from "./flow_record.ts";
import { boolean, type Check, fields, list, number, oneOf, optional, text } from "./row_checks.ts";

/** The part of an adapter. */
export interface Transfer {
  readonly mark: TransferStore["mark"];
  readonly read: { readonly [Kind in ReadKind]: (request: ReadRequest) => Promise<RowPage<Kind>> };
  readonly put: {
    readonly [Kind in RowKind]: (rows: readonly TransferRows[Kind][], batch: string) => Promise<unknown>;
  };
  readonly drop: {
    readonly [Kind in keyof DroppedRows]: (rows: readonly DroppedRows[Kind][], batch: string) => Promise<unknown>;
  };
}

/** Returns the part. */
export function transferOf({ mark, read, put, drop }: Transfer): TransferStore {
  return {
    mark,
    async read<Kind extends ReadKind>(kind: Kind, request: ReadRequest = {}) {
      return await read[kind](request);
    },
    async put<Kind extends RowKind>(kind: Kind, rows: readonly TransferRows[Kind][], batch = "") {
      for (const row of rows) CHECKS[kind](kind, row);
      if (rows.length > 0) await put[kind](rows, batch);
    },
    async drop<Kind extends keyof DroppedRows>(kind: Kind, rows: readonly DroppedRows[Kind][], batch = "") {
      return Number(await drop[kind](rows, batch) ?? 0);
    },
  };
}

const CHECKS: { readonly [Kind in RowKind]: Check } = {
  job: fields({
    ...{ ref: text, payload: text, at: optional(number) },
    place: fields({ in: oneOf("queue", "scheduled", "retry", "dead"), queue: optional(text), group: optional(text) }),
    unique: optional(fields({ key: text, jid: text, ttlMs: number })),
    debounce: optional(fields({ key: text, jid: text, firstAt: number })),
  }),
  step: fields({ jid: text, steps: list(fields({ name: text, record: text })), receives: boolean }),
  stream: fields({ jid: text, parts: list(fields({ last: number, run: number, attempt: number, body: text })) }),
  batch: fields(BATCH_COLUMNS),
  node: fields({ flow: text, columns: fields(NODE_COLUMNS) }),
  throttle: fields({ key: text, perMs: number, pushes: list(fields({ jid: text, agoMs: number })) }),
  once: fields({ key: text, jid: text, leftMs: number, fingerprint: text }),
  key: fields({ key: text }),
};
