/** Splits a stream of text into lines, without their ends. */
export declare class TextLineStream extends TransformStream<string, string> {
  constructor(options?: { allowCR?: boolean });
}
