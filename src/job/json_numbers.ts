/**
 * Equal numbers as equal texts: JSON writes one number in several ways, and so do languages (`1.0` in Python, `1` in JavaScript).
 *
 * @module
 */

const MAX_EXPONENT = 16_000;
const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** Returns JSON text in which each number has its shortest decimal form, without an exponent. Strings stay as they are. */
export function withPlainNumbers(json: string): string {
  if (!/\d[.eE]|-0/.test(json)) return json;
  return json.replace(TOKEN, (token) => token.startsWith('"') ? token : plain(token));
}

function plain(number: string): string {
  const [, sign, whole, part = "", power = "0"] = NUMBER.exec(number)!;
  const digits = (whole + part).replace(/^0+/, "");
  const significant = digits.replace(/0+$/, "");
  if (significant === "") return "0";
  const exponent = Number(power) - part.length + digits.length - significant.length;
  if (Math.abs(exponent) > MAX_EXPONENT) return number;
  if (exponent >= 0) return sign + significant + "0".repeat(exponent);
  const padded = significant.padStart(1 - exponent, "0");
  return `${sign}${padded.slice(0, exponent)}.${padded.slice(exponent)}`;
}
