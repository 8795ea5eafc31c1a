/**
 * The payload of a job: its arguments as a tree, and its other fields.
 *
 * @module
 */
import { readWireTime } from "../../job/raw.ts";
import { isoTime } from "../../text/times.ts";
import { cut, document } from "../read/job_view.ts";
import { Tree } from "./tree.tsx";

const MAX_FIELD_NAME_CHARS = 40;
const TIMES = new Set(["created_at", "enqueued_at", "failed_at", "retried_at", "discarded_at"]);
/** Fields shown elsewhere on the page. */
const ELSEWHERE = new Set(
  ["args", "error_class", "error_message", "error_causes", "error_backtrace", "error_output", "errors"],
);

/** The arguments, and the other fields that the page of a job doesn't show elsewhere. */
export function Payload({ payload }: { readonly payload: Readonly<Record<string, unknown>> }) {
  const rows = Object.entries(payload).filter(([name]) => !ELSEWHERE.has(name)).slice(0, 200);
  return (
    <>
      <section>
        <h2>Arguments</h2>
        <Tree value={payload["args"]} label="Arguments" />
      </section>
      <section>
        <h2>Payload</h2>
        <table class="fields">
          <tbody>
            {rows.map(([name, value]) => (
              <tr>
                <th scope="row">{cut(name, MAX_FIELD_NAME_CHARS)}</th>
                <td>
                  <FieldValue name={name} value={value} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </>
  );
}

/** The schema of a class's arguments. */
export function ArgsSchemaSection({ schema }: { readonly schema: string | undefined }) {
  if (schema === undefined) return null;
  return (
    <section>
      <h2>Schema of the arguments</h2>
      <pre class="document" tabindex={0} aria-label="Schema of the arguments">{schema}</pre>
    </section>
  );
}

function FieldValue({ name, value }: { readonly name: string; readonly value: unknown }) {
  const iso = TIMES.has(name) ? isoTime(readWireTime(value)) : undefined;
  if (iso !== undefined) {
    return <time datetime={iso} data-exact>{iso.replace("T", " ").replace("Z", " UTC")}</time>;
  }
  return <code>{typeof value === "string" ? value : document(value)}</code>;
}
