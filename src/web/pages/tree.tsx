/**
 * A JSON value as a tree that folds. A large or deep value is shown as a document instead.
 *
 * @module
 */
import { document } from "../read/job_view.ts";

/** Values and levels of a tree. Larger values are shown as a document. */
const MAX_NODES = 500;
const MAX_DEPTH = 8;
/** Containers up to this depth are open at first. */
const OPEN_DEPTH = 2;

/** The value, named by `label` for screen readers. */
export function Tree({ value, label }: { readonly value: unknown; readonly label: string }) {
  if (!isContainer(value) || sizeOf(value, 0) > MAX_NODES) {
    return <pre class="document" tabindex={0} aria-label={label}>{document(value)}</pre>;
  }
  return (
    <div class="document tree" role="group" tabindex={0} aria-label={label}>
      <Members value={value} depth={1} />
    </div>
  );
}

function isContainer(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** Counts the values; beyond the bounds, returns more than {@linkcode MAX_NODES}. */
function sizeOf(value: object, depth: number): number {
  if (depth >= MAX_DEPTH) return MAX_NODES + 1;
  let count = 0;
  for (const one of Object.values(value)) {
    count += isContainer(one) ? 1 + sizeOf(one, depth + 1) : 1;
    if (count > MAX_NODES) return count;
  }
  return count;
}

function Members({ value, depth }: { readonly value: object; readonly depth: number }) {
  const members = Object.entries(value);
  if (members.length === 0) return <code>{Array.isArray(value) ? "[]" : "{}"}</code>;
  return (
    <ul>
      {members.map(([name, one]) => (
        <li>
          {isContainer(one) && Object.keys(one).length > 0
            ? (
              <details open={depth < OPEN_DEPTH + 1}>
                <summary>
                  <code>{name}</code> {sizeText(one)}
                </summary>
                <Members value={one} depth={depth + 1} />
              </details>
            )
            : (
              <>
                <code class="note key">{name}</code> <code>{document(one)}</code>
              </>
            )}
        </li>
      ))}
    </ul>
  );
}

function sizeText(value: object): string {
  const count = Object.keys(value).length;
  return Array.isArray(value) ? `[${count}]` : `{${count}}`;
}
