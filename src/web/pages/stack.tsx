/**
 * The stack of a failure. Frames that don't belong to the handler are folded.
 *
 * @module
 */
import { foldedText, stackParts } from "../../text/stack.ts";

/** Shows a stack; nothing if there is none. */
export function Stack({ lines }: { readonly lines: readonly string[] }) {
  return (
    <>
      {stackParts(lines).map((part, i) =>
        part.isFolded
          ? (
            <details id={`frames-${i}`}>
              <summary>{foldedText(part)}</summary>
              <pre class="document" tabindex={0} aria-label="Folded frames">{part.lines.join("\n")}</pre>
            </details>
          )
          : <pre class="document" tabindex={0} aria-label="Stack">{part.lines.join("\n")}</pre>
      )}
    </>
  );
}
